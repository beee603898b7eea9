// Package vcenter manages the virtual machines of a vCenter: it is a provider for package external. It does not depend on
// Kubernetes. All groups with the same credentials share a session, which is renewed when the vCenter has dropped it.
package vcenter

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/operon-framework/operon/external"
)

// Keys of the Secret with the access to a vCenter.
const (
	// HostKey is a host name or a URL. It must not contain a user or a password.
	HostKey = "VC_HOST"
	// UserKey and PasswordKey are the credentials.
	UserKey     = "VC_USER"
	PasswordKey = "VC_PASS"
	// CAKey is the certificate, in PEM, of the authority that signed the vCenter's. Without it, the system's authorities are used.
	CAKey = "VC_CA"
)

// Access contains the address and credentials of a vCenter. It must never be printed, because it contains a password.
type Access struct {
	url      url.URL
	user     string
	password string
	ca       string
}

// AccessFrom reads the data of a Secret. Errors name the key.
func AccessFrom(data map[string][]byte) (Access, error) {
	for _, key := range []string{HostKey, UserKey, PasswordKey} {
		if len(data[key]) == 0 {
			return Access{}, fmt.Errorf("the key %s is missing", key)
		}
	}
	host := strings.TrimSpace(string(data[HostKey]))
	if strings.Contains(host, "@") {
		return Access{}, fmt.Errorf("the key %s has a user in it: that belongs into %s", HostKey, UserKey)
	}
	parsed, err := soap.ParseURL(host)
	if err != nil || parsed == nil || parsed.Host == "" {
		return Access{}, fmt.Errorf("the key %s is no host and no URL", HostKey)
	}
	parsed.User = nil
	return Access{url: *parsed, user: string(data[UserKey]), password: string(data[PasswordKey]), ca: string(data[CAKey])}, nil
}

// Host returns the host of the vCenter, for messages.
func (a Access) Host() string { return a.url.Host }

// String returns the host, so the password is not printed with an Access.
func (a Access) String() string { return a.Host() }

// GoString is String.
func (a Access) GoString() string { return a.Host() }

// sessions are the open sessions. There is one for each set of credentials.
var sessions = struct {
	sync.Mutex
	open map[Access]*vim25.Client
}{open: map[Access]*vim25.Client{}}

// client returns a client with a session.
func (a Access) client(ctx context.Context) (*vim25.Client, error) {
	sessions.Lock()
	defer sessions.Unlock()
	if c := sessions.open[a]; c != nil {
		return c, nil
	}
	c, err := a.login(ctx)
	if err == nil {
		sessions.open[a] = c
	}
	return c, err
}

func (a Access) login(ctx context.Context) (*vim25.Client, error) {
	transport := soap.NewClient(&a.url, false)
	if a.ca != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(a.ca)) {
			return nil, external.AsDenied(fmt.Errorf("the key %s holds no certificate", CAKey))
		}
		transport.DefaultTransport().TLSClientConfig.RootCAs = pool
	}
	c, err := vim25.NewClient(ctx, transport)
	if err != nil {
		return nil, err
	}
	err = session.NewManager(c).Login(ctx, url.UserPassword(a.user, a.password))
	if fault.Is(err, &types.InvalidLogin{}) {
		return nil, external.AsDenied(errors.New("the vCenter does not accept user and password"))
	}
	return c, err
}

// forget drops a session, unless it was already replaced.
func (a Access) forget(c *vim25.Client) {
	sessions.Lock()
	defer sessions.Unlock()
	if sessions.open[a] == c {
		delete(sessions.open, a)
	}
}

// with calls do with a client, and classifies its error.
func (a Access) with(ctx context.Context, do func(*vim25.Client) error) error {
	err := a.inSession(ctx, do)
	answered := soap.IsSoapFault(err) || errors.As(err, new(task.Error))
	switch {
	case !answered:
		return err // the vCenter did not respond, or the error is already classified
	case fault.Is(err, &types.NoPermission{}):
		return external.AsDenied(err)
	case isGone(err):
		return err
	}
	return external.AsRefused(err)
}

// inSession calls do, and again if the vCenter has dropped the session.
func (a Access) inSession(ctx context.Context, do func(*vim25.Client) error) error {
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	err = do(c)
	if !fault.Is(err, &types.NotAuthenticated{}) {
		return err
	}
	a.forget(c)
	if c, err = a.client(ctx); err != nil {
		return err
	}
	return do(c)
}
