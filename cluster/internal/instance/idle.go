package instance

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
)

// activity records when users last used the cluster. Requests of the cluster's own components do not count. A watch counts as
// long as it lasts.
type activity struct {
	mu     sync.Mutex
	active int
	last   time.Time
	over   bool // it was idle for ttl
}

// wrap counts requests to the API server, except requests of the cluster's own components.
func (a *activity) wrap(next http.Handler) http.Handler {
	a.add(0)
	counted := a.count(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if controlplane.OwnComponent(r) {
			next.ServeHTTP(w, r)
			return
		}
		counted.ServeHTTP(w, r)
	})
}

// count counts all requests.
func (a *activity) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.add(1)
		defer a.add(-1)
		next.ServeHTTP(w, r)
	})
}

func (a *activity) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active += n
	a.last = time.Now()
}

// renew counts as use that ends at once. It returns false if the cluster is already stopping.
func (a *activity) renew() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Now()
	return !a.over
}

// remaining returns the time until the cluster has been idle for ttl. When it has been, renew returns false from then on.
func (a *activity) remaining(ttl time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active > 0 {
		return ttl
	}
	left := ttl - time.Since(a.last)
	a.over = left <= 0
	return left
}

// awaitIdle returns when the cluster has been idle for ttl, or when ctx ends.
func (a *activity) awaitIdle(ctx context.Context, ttl time.Duration) {
	for {
		remaining := a.remaining(ttl)
		if remaining <= 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(remaining):
		}
	}
}

// since reports whether users used the cluster after t.
func (a *activity) since(t time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.After(t)
}
