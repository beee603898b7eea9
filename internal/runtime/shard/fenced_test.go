package shard_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// frozen is a replica that freezes after its last check of the clock: from one write on, it sends no requests that write. That
// write is sent when the replica is thawed.
type frozen struct {
	// at reports whether a request is that write, if the replica is armed. Before, it may repeat writes that took too long.
	at    func(*http.Request) bool
	armed atomic.Bool
	dead  atomic.Bool
	held  chan struct{}
	thaw  chan struct{}
	code  chan int
}

var errFrozen = errors.New("it is frozen")

func freezing(at func(*http.Request) bool) *frozen {
	return &frozen{at: at, held: make(chan struct{}), thaw: make(chan struct{}), code: make(chan int, 1)}
}

func (f *frozen) wrap(next http.RoundTripper) http.RoundTripper {
	return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if f.armed.Load() && f.at(r) && f.dead.CompareAndSwap(false, true) {
			close(f.held)
			<-f.thaw
			late := r.Clone(context.WithoutCancel(r.Context()))
			query := late.URL.Query()
			query.Del("timeout") // a slow API server would give up before it checks the write
			late.URL.RawQuery = query.Encode()
			answer, err := next.RoundTrip(late)
			if err != nil {
				f.code <- 0
				return nil, err
			}
			f.code <- answer.StatusCode
			return answer, nil
		}
		if f.dead.Load() && r.Method != http.MethodGet {
			return nil, errFrozen
		}
		return next.RoundTrip(r)
	})
}

// optional composes a ConfigMap with the Box's data, unless the data disables it.
func optional(b *boxtest.Box, out *operon.Composition) error {
	if b.Spec.Data["child"] == "no" {
		return nil
	}
	return boxtest.Copies(b, out)
}

// If a frozen owner sends its write long after another replica took over, the write is rejected, whatever it is.
func TestAWriteThatComesLateIsRefused(t *testing.T) {
	t.Parallel()
	child := func(method string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Method == method && strings.Contains(r.URL.Path, "/configmaps/") }
	}
	for name, c := range map[string]struct {
		at func(*http.Request) bool
		// first is the data before, second is the data of the late write.
		first, second map[string]string
	}{
		"creation": {at: child(http.MethodPatch), second: map[string]string{"made": "2"}},
		"change":   {at: child(http.MethodPatch), first: map[string]string{"made": "1"}, second: map[string]string{"made": "2"}},
		"deletion": {at: child(http.MethodDelete), first: map[string]string{"made": "1"}, second: map[string]string{"child": "no"}},
		"status": {at: func(r *http.Request) bool {
			return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status")
		},
			second: map[string]string{"made": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			f := freezing(c.at)
			config := rest.CopyConfig(w.Config)
			config.Wrap(f.wrap)
			w.RunWith(config, operon.Config{Namespace: w.Namespace, Shards: 1, ShardLease: boxtest.ShortLease}, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(optional)))
			w.Spread(1)
			b := w.late(f, c.first, c.second)
			localtest.Receive(t, "the "+name, f.held)
			w.Change(b, func() { b.Spec.Data = map[string]string{"made": "3"} })
			w.Share(boxtest.ComposeFunc(optional), 1)
			w.IsReady(b)
			close(f.thaw)
			if code := localtest.Receive(t, "the late "+name, f.code); code != http.StatusConflict {
				t.Errorf("the late %s was answered with %d", name, code)
			}
			f.dead.Store(false)
		})
	}
}

// late creates a Box whose write will be late: the write of the second data, or of the first if there is no second.
func (w *fixture) late(f *frozen, first, second map[string]string) *boxtest.Box {
	w.Helper()
	if first == nil {
		f.armed.Store(true)
		return w.Box("late", second)
	}
	b := w.Box("late", first)
	w.IsReady(b)
	f.armed.Store(true)
	w.Change(b, func() { b.Spec.Data = second })
	return b
}
