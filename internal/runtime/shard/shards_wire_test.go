package shard_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// stuck returns a connection on which renewals of leases get no response until it is released.
func stuck(config *rest.Config) (_ *rest.Config, stick, release func()) {
	config = rest.CopyConfig(config)
	var mu sync.Mutex
	var gate chan struct{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			held := gate
			mu.Unlock()
			if held != nil && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/leases/box-operator-member-") {
				select {
				case <-held:
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}
			return next.RoundTrip(r)
		})
	})
	set := func(to chan struct{}) {
		mu.Lock()
		defer mu.Unlock()
		if gate != nil {
			close(gate)
		}
		gate = to
	}
	return config, func() { set(make(chan struct{})) }, func() { set(nil) }
}

// Objects are created while the lease of a replica is late, so the replica may not even label them. It handles them when the
// lease is renewed, although there is no further watch event for them.
func TestALateLeaseStarvesNobody(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	config, stick, release := stuck(w.Config)
	defer release()
	told := &boxtest.Lines{}
	cfg := operon.Config{Namespace: w.Namespace, Shards: 4, ShardLease: boxtest.ShortLease, Log: slog.New(slog.NewTextHandler(told, nil))}
	w.RunWith(config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
	w.Spread(1)
	w.IsReady(w.Box("before", map[string]string{"a": "b"}))
	stick()
	var all []*boxtest.Box
	w.Eventually("renewals to fail until no write is sent", func(ctx context.Context) error {
		all = append(all, w.Box(fmt.Sprint("meanwhile-", len(all)), map[string]string{"a": "b"}))
		if failed := strings.Count(told.String(), "cannot renew the lease of this replica"); failed < 2 { // each after 0.7 s
			return fmt.Errorf("%d failed", failed)
		}
		return nil
	})
	release()
	for _, b := range all {
		w.IsReady(b)
	}
}

// selections returns a connection that records lists and watches of Boxes without a selector.
func selections(config *rest.Config) (_ *rest.Config, unselected func() []string) {
	config = rest.CopyConfig(config)
	var mu sync.Mutex
	var all []string
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			query := r.URL.Query()
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/boxes") && query.Get("labelSelector") == "" && query.Get("shardSelector") == "" {
				mu.Lock()
				all = append(all, r.URL.String())
				mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	return config, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}
