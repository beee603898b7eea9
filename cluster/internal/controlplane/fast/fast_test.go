package fast_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/controlplane/fast"
	"github.com/operon-framework/operon/cluster/internal/controlplane/planetest"
)

// The control plane of this test binary, with all accelerations.
var (
	plane  *controlplane.ControlPlane
	keys   string // the directory of its keys
	client *kubernetes.Clientset
	asked  sync.Map // path of a request → time of its first occurrence
	looks  moments  // times at which the garbage collector queried the served kinds
)

// moments are the times of events. Several goroutines may add to them.
type moments struct {
	mu  sync.Mutex
	all []time.Time
}

func (m *moments) note() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, time.Now())
}

// since returns the moments after start.
func (m *moments) since(start time.Time) []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.all, start.Before)
	if at < 0 {
		return nil
	}
	return slices.Clone(m.all[at:])
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(serveChild(dir))
	}
	os.Exit(planetest.Run(m, func(ctx context.Context, cfg controlplane.Config) (*controlplane.ControlPlane, error) {
		note := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.LoadOrStore(r.URL.Path, time.Now())
				if r.URL.Path == "/apis" && strings.Contains(r.UserAgent(), "generic-garbage-collector") {
					looks.note()
				}
				next.ServeHTTP(w, r)
			})
		}
		keys = filepath.Join(cfg.Dir, "pki")
		cfg.APIServer = controlplane.Settings{"requestheader-username-headers": "X-Remote-User,X-My-User"} // for the test of front proxies
		var err error
		all := append([]controlplane.Extension{{Handler: note}}, fast.Extensions(cfg)...)
		if plane, err = controlplane.Start(ctx, cfg, all...); err != nil {
			return nil, err
		}
		client, err = kubernetes.NewForConfig(plane.AdminConfig())
		return plane, err
	}))
}
