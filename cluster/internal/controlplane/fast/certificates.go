package fast

import (
	"crypto/sha256"
	"net/http"
	"slices"
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
	users []string // the headers in which front proxies name their users
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
		var users []string
		if proxies := authentication.RequestHeaderConfig; proxies != nil {
			users = proxies.UsernameHeaders.Value()
		}
		authentication.Authenticator = newCertificates(authentication.Authenticator, users, clock.RealClock{})
	}})
}

func newCertificates(next authenticator.Request, users []string, clock clock.PassiveClock) *certificates {
	return &certificates{next: next, users: users, clock: clock, known: map[[sha256.Size]byte]holder{}}
}

// AuthenticateRequest implements authenticator.Request.
func (c *certificates) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if !c.alone(req) {
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

// alone reports whether a request is authenticated only by its client certificate: it has no token and no headers of a front
// proxy.
func (c *certificates) alone(req *http.Request) bool {
	fromProxy := slices.ContainsFunc(c.users, func(header string) bool { return len(req.Header.Values(header)) > 0 })
	return req.TLS != nil && len(req.TLS.PeerCertificates) > 0 && req.Header.Get("Authorization") == "" &&
		!fromProxy && len(req.Header.Values("Sec-Websocket-Protocol")) == 0
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
