package operon

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
)

// headerTimeout is how long a client may take to send the headers of a request.
const headerTimeout = 10 * time.Second

// healthy is a manager whose health probes are served by Operon, because controller-runtime's probe server has no way
// to add the debug endpoint. Checks are added as to any manager.
type healthy struct {
	ctrl.Manager
	hooks         webhook.Server // Operon's; nil if there is none
	mu            sync.Mutex
	health, ready healthz.Handler
}

// historyFor returns the store for the debug endpoint, which is served at the address of the health probes. It returns
// nil if there is no such address.
func historyFor(name string, cluster *rest.Config, cfg Config) *reconcilelog.Store {
	if orNone(cfg.HealthProbeBindAddress) == "0" {
		return nil
	}
	return reconcilelog.NewStore(reconcilelog.Operator{
		Name: name, PID: os.Getpid(), Started: time.Now(), Server: cluster.Host, Namespaces: cfg.namespaces(),
	})
}

// AddHealthzCheck adds a check to /healthz.
func (h *healthy) AddHealthzCheck(name string, check healthz.Checker) error {
	return h.add(&h.health, name, check)
}

// AddReadyzCheck adds a check to /readyz.
func (h *healthy) AddReadyzCheck(name string, check healthz.Checker) error {
	return h.add(&h.ready, name, check)
}

// add adds a check. It replaces the map, because the server reads it without the lock.
func (h *healthy) add(to *healthz.Handler, name string, check healthz.Checker) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	checks := map[string]healthz.Checker{name: check}
	for other, existing := range to.Checks {
		checks[other] = existing
	}
	to.Checks = checks
	return nil
}

// probe responds with the current checks.
func (h *healthy) probe(of *healthz.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		now := healthz.Handler{Checks: of.Checks}
		h.mu.Unlock()
		now.ServeHTTP(w, r)
	})
}

// serve makes the manager serve health probes and the debug endpoint at an address. It listens at once, so a port that
// is in use is an error at startup.
func (h *healthy) serve(ctx context.Context, address string, store *reconcilelog.Store) error {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve health probes: %w", err)
	}
	mux := http.NewServeMux()
	for path, of := range map[string]*healthz.Handler{"/healthz": &h.health, "/readyz": &h.ready} {
		mux.Handle(path, http.StripPrefix(path, h.probe(of)))
		mux.Handle(path+"/", http.StripPrefix(path, h.probe(of)))
	}
	store.Serve(mux)
	return h.Add(&manager.Server{
		Name:     "health",
		Server:   &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout},
		Listener: listener,
	})
}
