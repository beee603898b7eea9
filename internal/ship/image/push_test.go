package image

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// The registries of the tests are one server with several host names. Docker's configuration has credentials for some of
// them.
const (
	knownHost  = "known.example.com"
	refused    = "refused.example.com"
	strange    = "strange.example.com"
	user, word = "builder", "opensesame"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "docker-config-")
	if err != nil {
		log.Fatal(err)
	}
	credentials := func(word string) string { return base64.StdEncoding.EncodeToString([]byte(user + ":" + word)) }
	config := fmt.Sprintf(`{"auths": {%q: {"auth": %q}, %q: {"auth": %q}}}`, knownHost, credentials(word), refused, credentials("wrong"))
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		log.Fatal(err)
	}
	os.Setenv("DOCKER_CONFIG", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// server is a registry with TLS that requires credentials, and a transport that connects all host names to it.
type server struct {
	transport *http.Transport
	mu        sync.Mutex // blobs are sent in parallel
	uploads   []string
}

func serve(t *testing.T, handler http.Handler) *server {
	t.Helper()
	s := &server{}
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut || r.Method == http.MethodPatch {
			s.mu.Lock()
			s.uploads = append(s.uploads, r.URL.Path)
			s.mu.Unlock()
		}
		if name, given, ok := r.BasicAuth(); !ok || name != user || given != word {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	s.transport = web.Client().Transport.(*http.Transport).Clone()
	s.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, web.Listener.Addr().String())
	}
	return s
}

func newRegistry(t *testing.T) *server {
	t.Helper()
	return serve(t, registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
}

func TestPush(t *testing.T) {
	t.Parallel()
	for _, platforms := range [][]string{{"linux/amd64"}, {"linux/amd64", "linux/arm64"}} {
		store, server := newStore(t), newRegistry(t)
		made := sample(t, store, "program", platforms...)
		to := named(t, knownHost+"/team/web:1.0")
		if err := store.push(t.Context(), to, made, server.transport); err != nil {
			t.Fatal(err)
		}
		pushed := check(t, server, to, made)
		if got := documents(t, server, to, pushed); len(got) != len(platforms) {
			t.Errorf("attached are %q", got)
		}
		server.uploads = nil
		if err := store.push(t.Context(), to, made, server.transport); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(server.uploads, func(path string) bool { return strings.Contains(path, "/blobs/") }) {
			t.Errorf("blobs were sent that are there: %q", server.uploads)
		}
	}
}

// check reads the pushed image, and returns the digests of the images.
func check(t *testing.T, server *server, to Name, made Image) []v1.Hash {
	t.Helper()
	tag, err := name.NewTag(to.Full)
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Get(tag, server.options()...)
	if err != nil {
		t.Fatal(err)
	}
	if found.Digest != made.Descriptor.Digest {
		t.Errorf("the name leads to %s, want %s", found.Digest, made.Descriptor.Digest)
	}
	if !found.MediaType.IsIndex() {
		one, err := found.Image()
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(one); err != nil {
			t.Error(err)
		}
		return []v1.Hash{found.Digest}
	}
	index, err := found.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var images []v1.Hash
	for _, entry := range manifest.Manifests {
		images = append(images, entry.Digest)
	}
	return images
}

// documents returns the types of the attachments that the registry lists for images.
func documents(t *testing.T, server *server, to Name, images []v1.Hash) []string {
	t.Helper()
	repository, err := name.NewRepository(strings.TrimSuffix(to.Full, ":"+to.Tag))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, image := range images {
		referrers, err := remote.Referrers(repository.Digest(image.String()), server.options()...)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := referrers.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range manifest.Manifests {
			found = append(found, entry.ArtifactType)
		}
	}
	return found
}

func (s *server) options() []remote.Option {
	return []remote.Option{remote.WithTransport(s.transport), remote.WithAuth(basic{})}
}

func TestPushesThatAreRefused(t *testing.T) {
	t.Parallel()
	missing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"errors":[{"code":"NAME_UNKNOWN","message":"repository name not known"}]}`)
	})
	unknown := newRegistry(t)
	unknown.transport.TLSClientConfig = &tls.Config{}
	nobody := newRegistry(t)
	nobody.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	}
	for want, test := range map[string]struct {
		to     string
		server *server
	}{
		"requires credentials, but config.json of $DOCKER_CONFIG": {strange, newRegistry(t)},
		"rejects the credentials from config.json":                {refused, newRegistry(t)},
		"presents a certificate that this machine does not trust": {knownHost, unknown},
		"has no repository team/web":                              {knownHost, serve(t, missing)},
		"cannot be reached":                                       {knownHost, nobody},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			err := store.push(t.Context(), named(t, test.to+"/team/web:1.0"), sample(t, store, "program", "linux/amd64"), test.server.transport)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), test.to) {
				t.Errorf("%v", err)
			}
			if err != nil && (strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "wrong")) {
				t.Errorf("tells the password: %v", err)
			}
		})
	}
}

// basic provides the valid credentials.
type basic struct{}

func (basic) Authorization() (*authn.AuthConfig, error) {
	return &authn.AuthConfig{Username: user, Password: word}, nil
}
