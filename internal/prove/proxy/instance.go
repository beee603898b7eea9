package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/operon-framework/operon/internal/prove/fault"
)

// Instance is one start of the operator: the clients that send the token created for it. It is safe for
// concurrent use.
type Instance struct {
	proxy  *Proxy
	number int
	file   string

	alive context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	token   string
	refused time.Time // older tokens are not valid until then
	revoked bool
	inside  sync.WaitGroup // requests in progress; a revoked instance does not accept new ones
}

// NewInstance creates a token for a start of the operator, whose requests are recorded under their own
// number. If tokenFile is not empty, the token is written to that file, and connections read it from
// there: a token that expires can only be replaced in a file. The directory of the file has to exist.
func (p *Proxy) NewInstance(tokenFile string) (*Instance, error) {
	if tokenFile == "" && p.options.Script.Has(fault.Expire) {
		return nil, errors.New("a fault expires the operator's token, and there is no file for the new one: name one")
	}
	return p.newInstance(tokenFile)
}

func (p *Proxy) newInstance(tokenFile string) (*Instance, error) {
	i := &Instance{proxy: p, file: tokenFile}
	i.alive, i.end = context.WithCancel(context.Background())
	if err := i.renew(); err != nil {
		return nil, err
	}
	p.senders.add(i)
	return i, nil
}

// renew creates a new token. The previous token remains valid, unless it is made to expire.
func (i *Instance) renew() error {
	token := rand.Text()
	if err := writeToken(i.file, token); err != nil {
		return err
	}
	i.mu.Lock()
	i.token = token
	i.mu.Unlock()
	i.proxy.senders.grant(token, i)
	return nil
}

// expire creates a new token and makes the previous token invalid for a time. Requests with other credentials
// are not affected.
func (i *Instance) expire(while time.Duration) error {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	i.refused = time.Now().Add(while)
	i.mu.Unlock()
	i.proxy.meter.disturb(while)
	return i.renew()
}

// takes reports whether a token of the instance is currently valid.
func (i *Instance) takes(token string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.token == token || !time.Now().Before(i.refused)
}

// writeToken replaces the file atomically, so that no client reads an incomplete token.
func writeToken(path, token string) error {
	if path == "" {
		return nil
	}
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+rand.Text())
	if err := os.WriteFile(next, []byte(token), 0o600); err != nil {
		return fmt.Errorf("write the operator's token: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write the operator's token: %w", errors.Join(err, os.Remove(next)))
	}
	return nil
}

// Number returns the number of the instance in [requestlog.Request.Instance], counted from 1.
func (i *Instance) Number() int { return i.number }

// Token returns the current token, which identifies the operator at this proxy.
func (i *Instance) Token() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.token
}

// Config returns a config for connections to the proxy as this instance. Like the config that controller-runtime uses in a
// program, it does not have a client-side rate limit: the API server slows down clients that send too many requests.
func (i *Instance) Config() *rest.Config {
	config := &rest.Config{
		Host:            i.proxy.Address(),
		TLSClientConfig: rest.TLSClientConfig{CAData: i.proxy.Authority()},
		QPS:             -1,
	}
	if i.file != "" {
		config.BearerTokenFile = i.file
	} else {
		config.BearerToken = i.Token()
	}
	return config
}

// Kubeconfig returns a kubeconfig for connections to the proxy as this instance. Its context
// has the namespace, or no namespace if it is empty. It grants the operator's permissions: keep it as
// secret as the operator's own kubeconfig.
func (i *Instance) Kubeconfig(namespace string) ([]byte, error) {
	const name = "operon-prove"
	config := i.Config()
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: config.Host, CertificateAuthorityData: config.CAData},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: config.BearerToken, TokenFile: config.BearerTokenFile}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: namespace}},
		CurrentContext: name,
	})
}

// Revoke ends all requests of the instance and accepts no new ones: neither requests in progress
// nor later requests receive a response. Connections that no other instance uses are closed a moment
// later, when the last responses have arrived.
//
// Guarantees: when it returns, no request of the instance is on its way to the API server, and
// the outcome of each request is recorded. A second call does nothing.
// Caveats: it waits for the server's responses to writes that the server has received, at most [grace].
func (i *Instance) Revoke() {
	i.mu.Lock()
	i.revoked = true
	i.mu.Unlock()
	i.end()
	i.inside.Wait()
	time.AfterFunc(timing.linger, func() { i.proxy.gate.cutOf(i) })
}

// enter accepts a request, unless the instance is revoked.
func (i *Instance) enter() bool {
	if i == nil {
		return true
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.revoked {
		i.inside.Add(1)
	}
	return !i.revoked
}

// gone reports whether the instance was revoked.
func (i *Instance) gone() bool { return i != nil && i.alive.Err() != nil }

// senders contains the instances of a proxy, by token.
type senders struct {
	mu     sync.RWMutex
	tokens map[string]*Instance
	count  int
	first  *Instance
}

// add assigns a number to an instance.
func (s *senders) add(i *Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	i.number = s.count
}

func (s *senders) grant(token string, i *Instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[token] = i
}

// of returns the instance that sent a request, or nil if the request has other credentials or none. It also
// reports whether the token is valid.
func (s *senders) of(r *http.Request) (sender *Instance, valid bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil, true
	}
	s.mu.RLock()
	sender = s.tokens[token]
	s.mu.RUnlock()
	return sender, sender == nil || sender.takes(token)
}

// last returns the number of the newest instance.
func (s *senders) last() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.count
}

// Config returns a config for connections to the proxy as the first instance, which is created with the proxy.
func (p *Proxy) Config() *rest.Config { return p.senders.first.Config() }

// Kubeconfig is [Instance.Kubeconfig] of the first instance, which is created with the proxy.
func (p *Proxy) Kubeconfig(namespace string) ([]byte, error) {
	return p.senders.first.Kubeconfig(namespace)
}

// Address returns the proxy's URL.
func (p *Proxy) Address() string { return "https://" + p.gate.Addr().String() }

// Authority returns the certificate of the authority that signed the proxy's certificate, in PEM.
func (p *Proxy) Authority() []byte { return p.pair.authority }
