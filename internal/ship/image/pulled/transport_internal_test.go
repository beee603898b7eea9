package pulled

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// A registry with TLS cannot redirect to an address without TLS, where it could name a service without a certificate as its server for tokens.
func TestRedirectsKeepTLS(t *testing.T) {
	t.Parallel()
	var plain *httptest.Server
	plain = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the server without TLS is asked for %s", r.URL)
		if r.URL.Path == "/token" {
			fmt.Fprint(w, `{"secret": "4711"}`)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+strings.ReplaceAll(plain.URL, "127.0.0.1", "localhost")+`/token"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(plain.Close)
	registry := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/v2/", http.StatusFound))
	t.Cleanup(registry.Close)
	store := New(t.TempDir(), DefaultLimits)
	store.remote = []remote.Option{remote.WithTransport(guarded{registry.Client().Transport})}
	_, err := store.Fetch(t.Context(), strings.TrimPrefix(registry.URL, "https://")+"/x:1", "manifests")
	if err == nil || !strings.Contains(err.Error(), "the registry redirects from https to http at 127.0.0.1:") || strings.Contains(err.Error(), "4711") {
		t.Errorf("the error is %v", err)
	}
}

// The relay of the cluster module refuses the same addresses.
func TestMetadataAddressesOfTheRelay(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../../../cluster/internal/node/relay_linux.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(content), "\nvar metadata = ")
	list, _, _ = strings.Cut(list, "\n}\n")
	var relays []netip.Addr
	for _, found := range regexp.MustCompile(`MustParseAddr\("([^"]+)"\)`).FindAllStringSubmatch(list, -1) {
		relays = append(relays, netip.MustParseAddr(found[1]))
	}
	if !slices.Equal(relays, metadata) {
		t.Errorf("the relay refuses %v, this package %v", relays, metadata)
	}
}
