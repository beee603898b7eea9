package aggregated

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Content is the response of a subresource whose content is not a Kubernetes object, such as a picture or a file.
type Content struct {
	// MediaType is the value of the header Content-Type, such as image/png. Browsers do not guess another one.
	MediaType string
	Data      []byte
}

// contents is the storage of a subresource that returns a Content.
type contents[T client.Object] struct {
	of   common[T]
	read func(context.Context, client.ObjectKey) (*Content, error)
}

var _ rest.Connecter = &contents[client.Object]{}

// New implements rest.Storage.
func (c *contents[T]) New() runtime.Object { return c.of.New() }

// Destroy implements rest.Storage.
func (c *contents[T]) Destroy() {}

// ConnectMethods implements rest.Connecter.
func (c *contents[T]) ConnectMethods() []string { return []string{http.MethodGet} }

// NewConnectOptions implements rest.Connecter.
func (c *contents[T]) NewConnectOptions() (options runtime.Object, path bool, parameter string) {
	return nil, false, ""
}

// Connect implements rest.Connecter.
func (c *contents[T]) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	found, err := c.read(ctx, client.ObjectKey{Namespace: request.NamespaceValue(ctx), Name: name})
	if err != nil {
		return nil, c.of.told(err, name)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", found.MediaType)
		header.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(found.Data)))
		// The content may come from somebody that the client does not trust: scripts in a picture must not run.
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.Data))
	}), nil
}
