package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Options configures the two sides of a proxy, and its faults.
type Options struct {
	// Server is the config with the API server and the operator's own credentials.
	Server *rest.Config
	// Observer may read the metadata of the objects that the operator writes, so that the effect of a write
	// is known. If it is nil, the effect is known only if the request and the response contain it.
	Observer *rest.Config
	// Script contains the faults to inject. Nil means no faults.
	Script *fault.Script
	// World is the part of the cluster that the operator sees as the whole cluster.
	World World
	// Before returns the resource version of the object that a request is about to change, "0" if the object does not
	// exist, as far as an observer of the whole cluster knows. It may lag behind the operator's own
	// writes. If it returns false or is nil, the Observer is queried over the network.
	Before func(requestlog.Request) (resourceVersion string, ok bool)
	// Now returns the newest resource version, as far as an observer of the whole cluster knows. It
	// is called when a fault is injected. If it is nil, the API server is queried.
	Now func() string
	// Kill stops the operator, for faults of that kind. It returns when the operator can send no
	// more requests: Revoke of its instance ensures that. It must neither wait for the response to a request of the
	// operator nor close the proxy.
	Kill func()
	// Overlap starts a second instance of the operator beside the first, for faults of that kind, as
	// a rolling update does. It is called in its own goroutine.
	Overlap func()
	// Slowness returns how much slower than usual the cluster currently is, at least 1. A view stays frozen
	// longer by that factor. Nil means 1.
	Slowness func() float64
	// Admin may change Leases. It is needed for faults that take a lease from the operator.
	Admin *rest.Config
	// ErrorLog is like ErrorLog of http.Server: it receives errors of connections. Errors of
	// requests are in the request log.
	ErrorLog *log.Logger
}

// Proxy is a running proxy.
type Proxy struct {
	options  Options
	record   *requestlog.Log
	target   *url.URL
	pair     *pair
	routes   routes
	observer *observer
	scopes   scopes
	forward  *httputil.ReverseProxy

	senders senders
	meter   meter
	views   *views
	clock   clock
	watches watches
	leases  *leases

	gate   *gate
	server *http.Server
	alive  context.Context
	end    context.CancelFunc
	served chan error

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup // requests in progress; a closed proxy does not accept new ones
}

// Start starts a proxy on a free port of the loopback interface. It runs until Close is called.
func Start(options Options) (*Proxy, error) {
	if err := options.lacks(); err != nil {
		return nil, err
	}
	target, _, err := rest.DefaultServerUrlFor(options.Server)
	if err != nil {
		return nil, fmt.Errorf("the API server's address: %w", err)
	}
	p := &Proxy{options: options, target: target, record: requestlog.NewLog(0), views: newViews(), served: make(chan error, 1)}
	p.senders.tokens = map[string]*Instance{}
	p.meter.now.Last = time.Now()
	if p.senders.first, err = p.newInstance(""); err != nil {
		return nil, err
	}
	if err := p.connect(); err != nil {
		return nil, err
	}
	if p.pair, err = newPair(); err != nil {
		return nil, fmt.Errorf("make the proxy's certificate: %w", err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	p.gate = &gate{Listener: listener, links: map[*link]bool{}}
	p.forward = p.newForward()
	p.serve()
	return p, nil
}

// lacks returns an error if an option is missing that the script's faults need.
func (o *Options) lacks() error {
	switch {
	case o.Kill == nil && o.Script.Has(fault.Kill, fault.Past):
		return errors.New("a fault kills the operator, and the proxy was not told how: set Kill")
	case o.Overlap == nil && o.Script.Has(fault.Overlap):
		return errors.New("a fault starts a second instance, and the proxy was not told how: set Overlap")
	case o.Admin == nil && o.Script.Has(fault.LoseLease):
		return errors.New("a fault takes a lease, and the proxy may not: set Admin")
	}
	return nil
}

// connect creates the routes to the API server.
func (p *Proxy) connect() (err error) {
	if p.routes, err = newRoutes(p.options.Server); err != nil {
		return err
	}
	if p.observer, err = newObserver(p.options.Observer); err != nil {
		return err
	}
	if p.leases, err = newLeases(p.options.Admin); err != nil {
		return err
	}
	p.scopes = scopes{client: p.routes[route{asOperator: true}], target: p.target, known: map[string]map[string]bool{}}
	if p.observer != nil {
		p.scopes.client, p.scopes.target = p.observer.transport, p.observer.target
	}
	return nil
}

// serve begins to accept connections.
func (p *Proxy) serve() {
	p.alive, p.end = context.WithCancel(context.Background())
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.handle),
		ErrorLog:          p.options.ErrorLog,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{p.pair.server}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return p.alive },
		ConnContext:       withLink,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
	}
	go func() { p.served <- p.server.ServeTLS(p.gate, "", "") }()
}

// headerTimeout prevents other processes on the machine from holding connections without a request. It is longer than
// clients keep unused connections, 90 s.
const headerTimeout = 2 * time.Minute

// maxStreams is the maximum number of concurrent requests on one HTTP/2 connection: more than an
// operator has watches.
const maxStreams = 1000

// Record returns the log into which the proxy records requests.
func (p *Proxy) Record() *requestlog.Log { return p.record }

// Close closes all connections, stops the proxy and returns when all requests are in the log. A
// second call does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.end()
	err := p.server.Close()
	p.gate.cut(func(*link) bool { return true }) // the server does not track upgraded connections
	p.inside.Wait()
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	p.served <- http.ErrServerClosed
	return err
}

// enter accepts a request, unless the proxy is closed.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.inside.Add(1)
	}
	return !p.closed
}
