package fast

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/utils/clock"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// remembered is the maximum number of cached certificates.
const remembered = 1000

// certificates caches the users of client certificates. Certificate authorities do not change while a cluster runs. Therefore a
// certificate belongs to the same user until it expires.
type certificates struct {
	next  authenticator.Request
	clock clock.PassiveClock

	mu    sync.Mutex
	known map[[sha256.Size]byte]holder
}

// holder is the user of a certificate, and the time until which this entry is valid.
type holder struct {
	response authenticator.Response
	until    time.Time
}

// cacheCertificates makes an API server verify each client certificate only once a minute.
func cacheCertificates(s *start) {
	s.extend(controlplane.Extension{APIServer: func(config *app.Config) {
		authentication := &config.Aggregator.GenericConfig.Authentication
		authentication.Authenticator = newCertificates(authentication.Authenticator, clock.RealClock{})
	}})
}

func newCertificates(next authenticator.Request, clock clock.PassiveClock) *certificates {
	return &certificates{next: next, clock: clock, known: map[[sha256.Size]byte]holder{}}
}

// AuthenticateRequest implements authenticator.Request.
func (c *certificates) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if !byCertificate(req) {
		return c.next.AuthenticateRequest(req)
	}
	leaf := req.TLS.PeerCertificates[0]
	key := sha256.Sum256(leaf.Raw)
	if response := c.lookup(key); response != nil {
		return response, true, nil
	}
	response, ok, err := c.next.AuthenticateRequest(req)
	if err == nil && ok && response.User.GetName() != user.Anonymous {
		c.remember(key, response, leaf.NotAfter)
	}
	return response, ok, err
}

// byCertificate reports whether a request is authenticated only by its client certificate: it has no token and no headers of a
// front proxy.
func byCertificate(req *http.Request) bool {
	return req.TLS != nil && len(req.TLS.PeerCertificates) > 0 && req.Header.Get("Authorization") == "" &&
		len(req.Header.Values("X-Remote-User")) == 0 && len(req.Header.Values("Sec-Websocket-Protocol")) == 0
}

// lookup returns nil if the user of a certificate is not cached.
func (c *certificates) lookup(key [sha256.Size]byte) *authenticator.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.known[key]
	if !ok || c.clock.Now().After(found.until) {
		return nil
	}
	return &found.response
}

func (c *certificates) remember(key [sha256.Size]byte, response *authenticator.Response, expires time.Time) {
	until := c.clock.Now().Add(timing.rememberCertificate)
	if expires.Before(until) {
		until = expires
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= remembered {
		clear(c.known)
	}
	c.known[key] = holder{response: *response, until: until}
}
