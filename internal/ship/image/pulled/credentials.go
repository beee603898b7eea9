package pulled

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// For returns the store as an owner uses it who has credentials for registries. What it fetches is kept apart from the images of others: nobody
// gets a private image because it is on this machine already.
func (s *Store) For(owner string, credentials authn.Keychain) *Store {
	sum := sha256.Sum256([]byte(owner))
	copied := *s
	copied.owner = "-" + hex.EncodeToString(sum[:8])
	copied.remote = []remote.Option{remote.WithAuthFromKeychain(keychain{credentials}), remote.WithTransport(encrypted{s.connections})}
	return &copied
}

// keychain marks the errors of credentials, which have nothing of a response of a registry.
type keychain struct{ authn.Keychain }

func (k keychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	found, err := authn.Resolve(ctx, k.Keychain, target)
	if err != nil {
		return nil, own{err}
	}
	return found, nil
}

// encrypted is a transport that sends credentials without TLS only to hosts to which the registry library connects without TLS anyway, such as
// those on loopback. A registry can name any address of a server for tokens, to which the library sends the credentials.
type encrypted struct{ next http.RoundTripper }

func (e encrypted) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme == "http" && request.Header.Get("Authorization") != "" && !plain(request.URL.Host) {
		return nil, own{fmt.Errorf("credentials are not sent to %s without TLS", request.URL.Host)}
	}
	return e.next.RoundTrip(request)
}

// plain reports whether the registry library connects to a host without TLS.
func plain(host string) bool {
	registry, err := name.NewRegistry(host)
	return err == nil && registry.Scheme() == "http"
}
