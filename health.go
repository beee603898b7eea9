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

// headerTimeout is how long a client may take to say what it wants.
const headerTimeout = 10 * time.Second

// healthy is a manager whose probes Operon serves, as controller-runtime's server of them has
// no place for the debug endpoint. Checks are added to it as to any manager.
type healthy struct {
	ctrl.Manager
	hooks         webhook.Server // Operon's, nil for none
	mu            sync.Mutex
	health, ready healthz.Handler
}

// historyFor returns the store of the debug endpoint, which has the address of the probes. It is nil without one.
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

// add adds a check. The server reads the map without the lock, so that it is replaced.
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

// probe answers with the checks as they are now.
func (h *healthy) probe(of *healthz.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		now := healthz.Handler{Checks: of.Checks}
		h.mu.Unlock()
		now.ServeHTTP(w, r)
	})
}

// serve makes the manager answer probes, and what it did, at an address. The address is taken
// at once, so that a port in use is an error of the start.
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
