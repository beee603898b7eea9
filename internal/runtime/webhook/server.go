package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/operon-framework/operon/internal/runtime/certificate"
)

// Limits of the server.
const (
	// maxReview limits the size of a request: an object may have 3 MiB, and a review contains it twice.
	maxReview = 16 << 20
	// maxConversion limits the size of a conversion request, which has many objects, and of all such requests together.
	maxConversion = 128 << 20
)

// Server answers API servers, and registers itself with them.
type Server struct {
	Config
	served
	routes  *http.ServeMux
	load    load
	plain   webhook.Server // has the routes, with controller-runtime's metrics
	foreign bool           // a custom handler was registered

	leaf atomic.Pointer[tls.Certificate]
	// trouble is the result of the last turn, and settled reports whether one has ever succeeded.
	trouble atomic.Pointer[error]
	settled atomic.Bool
	wake    chan struct{}
	ending
	// converts is closed when API servers send conversion requests.
	converts chan struct{}

	listener net.Listener
	place    place
}

// ending holds the steps of a shutdown.
type ending struct {
	left   atomic.Pointer[time.Time] // when Leave was called, nil before
	drains chan struct{}             // closed when the server waits for requests in flight
	ended  chan struct{}             // closed at the end
}

// served lists what a server answers and registers.
type served struct {
	hooks     []Hook
	kinds     []Policy // of all kinds of the operator, also without rules
	converted []schema.GroupVersionKind
	// aggregated are the versions of groups for which API servers forward requests.
	aggregated []schema.GroupVersion
	// before are the paths that an older version had registered when this process first read the registrations.
	before atomic.Pointer[map[string]bool]
}

// New returns a server. It does nothing yet.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	routes := http.NewServeMux()
	s := &Server{Config: cfg, routes: routes, wake: make(chan struct{}, 1), converts: make(chan struct{})}
	s.drains, s.ended = make(chan struct{}), make(chan struct{})
	s.plain = webhook.NewServer(webhook.Options{WebhookMux: routes})
	s.load.reviews.limit, s.load.conversions.limit = reviewsAtOnce, maxConversion
	routes.Handle("/", s.load.reviews.limited(http.HandlerFunc(s.unserved), maxReview))
	return s, nil
}

// Add adds hooks, before Start.
func (s *Server) Add(hooks ...Hook) {
	for _, hook := range hooks {
		s.hooks = append(s.hooks, hook)
		s.plain.Register(hook.path(), s.load.reviews.limited(hook.Handler, maxReview))
	}
}

// Judge adds a policy for a kind, before Start. A policy without rules is removed if an earlier one
// had rules.
func (s *Server) Judge(p Policy) { s.kinds = append(s.kinds, p) }

// Convert makes the server convert the versions of objects of a kind with handler. It must be called before Start.
// It is the same handler for all kinds.
func (s *Server) Convert(handler http.Handler, kind schema.GroupVersionKind) {
	if len(s.converted) == 0 {
		s.plain.Register(ConvertPath, s.load.conversions.limited(handler, maxConversion))
	}
	s.converted = append(s.converted, kind)
}

// Converts returns a channel that is closed when API servers send conversion requests for all kinds that this
// server converts. Until then API servers return objects of one version as objects of another, without the fields
// that have other names there.
func (s *Server) Converts() <-chan struct{} {
	if len(s.converted) == 0 {
		at := make(chan struct{})
		close(at)
		return at
	}
	return s.converts
}

// serves reports whether the server has anything to answer.
func (s *Server) serves() bool { return len(s.hooks) > 0 || len(s.converted) > 0 || s.foreign }

// Start listens, if the server has anything to answer, and begins to keep everything as it should be,
// until life ends. An address that is in use is an error.
//
// The returned function stops the server after the requests in flight are answered and clients
// had time to learn of the shutdown, counted from the call of Leave, or else from now. Registrations for
// this one process are removed then. Registrations that refer to a Service stay: other replicas answer, or will.
func (s *Server) Start(life context.Context) (stop func(), err error) {
	listens := func() {}
	if s.serves() {
		if listens, err = s.listen(life); err != nil {
			return nil, err
		}
	}
	kept := s.keep(life)
	return func() {
		s.Leave()
		kept()
		listens()
		close(s.ended)
	}, nil
}

// Leave announces that the server will be stopped: from now on each response says that its connection closes.
// API servers keep 25 connections, and would continue to use them, wherever the Service points; a request that
// is in flight when a connection is closed fails, and is not sent again.
func (s *Server) Leave() {
	now := time.Now()
	s.left.CompareAndSwap(nil, &now)
}

// parting answers as described at Leave.
func (s *Server) parting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.left.Load() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// listen serves.
func (s *Server) listen(life context.Context) (stop func(), err error) {
	var listening net.ListenConfig
	if s.listener, err = listening.Listen(life, "tcp", s.Address); err != nil {
		return nil, fmt.Errorf("serve webhooks at %s (--webhook-bind-address says where): %w", s.Address, err)
	}
	s.setPlace()
	server := &http.Server{Handler: s.parting(s.routes), ReadHeaderTimeout: timing.headerTimeout, TLSConfig: &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: s.certificate,
		ClientAuth:     s.clientAuth(),
	}}
	server.IdleTimeout = timing.headerTimeout
	server.ErrorLog = quiet
	// API servers use HTTP/1.1 for Services. On loopback they would use HTTP/2, with which a response takes a third
	// longer. Without HTTP/2 there are also no streams that a client could open and reset by the thousand.
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	go func() {
		if err := server.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			s.Log.Error(err, "webhooks are no longer served")
		}
	}()
	return func() { s.end(server) }, nil
}

// clientAuth requests the client certificate by which API servers prove for which user they forward a request. The
// handler verifies it; webhooks do not identify callers.
func (s *Server) clientAuth() tls.ClientAuthType {
	if len(s.aggregated) > 0 {
		return tls.RequestClientCert
	}
	return tls.NoClientCert
}

// end lingers and drains.
func (s *Server) end(server *http.Server) {
	if left := s.Linger - time.Since(*s.left.Load()); left > 0 {
		time.Sleep(left) // API servers send requests until they have received the change, which cannot be observed
	}
	close(s.drains)
	ctx, cancel := context.WithTimeout(context.Background(), timing.drain)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		s.Log.Error(err, "webhooks: requests were interrupted")
		_ = server.Close() // remaining requests are cut off
	}
}

// setPlace sets the address at which API servers find the server.
func (s *Server) setPlace() {
	s.place = place{service: s.Service, port: s.ServicePort}
	if s.Service.Name == "" {
		s.place = place{address: s.listener.Addr().String()}
	}
}

// hosts returns the host name for certificates.
func (s *Server) hosts() certificate.Hosts {
	if s.Service.Name != "" {
		return certificate.Hosts{serviceHost(s.Service)}
	}
	name, _, _ := net.SplitHostPort(s.place.address) // ours
	return certificate.Hosts{name}
}

var errNotYet = errors.New("there is no certificate yet")

// certificate returns the current leaf, for each connection.
func (s *Server) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if leaf := s.leaf.Load(); leaf != nil {
		return leaf, nil
	}
	return nil, errNotYet
}

// Check is for a readiness probe: the operator can receive requests once it has a certificate that API
// servers trust. It stays ready then, whatever happens to certificates later: other replicas are in the same
// situation.
func (s *Server) Check(*http.Request) error {
	if s.settled.Load() {
		return nil
	}
	if trouble := s.trouble.Load(); trouble != nil {
		return fmt.Errorf("webhooks: %w", *trouble)
	}
	return fmt.Errorf("webhooks: %w", errNotYet)
}

// Manager returns the server as a webhook server of a controller-runtime manager: handlers that are registered on it are
// served here, with the operator's certificates.
func (s *Server) Manager() webhook.Server { return managed{Server: s.plain, real: s} }

// managed is a server that a manager neither starts nor stops.
type managed struct {
	webhook.Server
	real *Server
}

// Register implements webhook.Server.
func (m managed) Register(path string, hook http.Handler) {
	m.real.foreign = true
	m.Server.Register(path, hook)
}

// Start implements webhook.Server. It only waits for the end of ctx: the server runs for longer than the manager.
func (m managed) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// StartedChecker implements webhook.Server.
func (m managed) StartedChecker() healthz.Checker { return m.real.Check }
