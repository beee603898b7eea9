// Package registrytest has a registry of images on loopback, to which tests push the images of bundles and catalogs. It ends with the test.
package registrytest

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Registry is a registry on loopback.
type Registry struct {
	*testing.T
	// Host is its host and port.
	Host string

	options []remote.Option
}

// New starts a registry, which ends with the test.
func New(t *testing.T) *Registry {
	t.Helper()
	return start(t, registry.New(registry.Logger(log.New(io.Discard, "", 0))))
}

// User and Password are the credentials for private registries.
const User, Password = "reader", "secret"

// NewPrivate starts a registry that demands credentials, which ends with the test.
func NewPrivate(t *testing.T) *Registry {
	t.Helper()
	open := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if user, password, _ := request.BasicAuth(); user != User || password != Password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		open.ServeHTTP(w, request)
	}))
	r.options = []remote.Option{remote.WithAuth(&authn.Basic{Username: User, Password: Password})}
	return r
}

func start(t *testing.T, handler http.Handler) *Registry {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &Registry{T: t, Host: strings.TrimPrefix(server.URL, "http://")}
}

// Push pushes an image with files, by their paths, and returns its reference. to is a repository with a tag.
func (r *Registry) Push(to string, files map[string]string) string {
	r.Helper()
	reference, err := name.ParseReference(r.Host + "/" + to)
	if err != nil {
		r.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(r.archive(files)), nil })
	if err != nil {
		r.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		r.Fatal(err)
	}
	if err := remote.Write(reference, image, r.options...); err != nil {
		r.Fatal(err)
	}
	return reference.String()
}

func (r *Registry) archive(files map[string]string) io.Reader {
	r.Helper()
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if err := writer.WriteHeader(&tar.Header{Name: file, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[file]))}); err != nil {
			r.Fatal(err)
		}
		if _, err := io.WriteString(writer, files[file]); err != nil {
			r.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		r.Fatal(err)
	}
	return &buffer
}
