package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/bench/internal/cluster"
	"github.com/operon-framework/operon/internal/testing/box"
)

// measurement contains the measurements of one operator.
type measurement struct {
	// calls and creations are the numbers until all objects are ready. sent are the requests for that.
	calls, creations int64
	sent             counts
	// restarted are the requests of a restarted operator. converged are the requests of a converged operator while it checks
	// resources looks times, and cpu is its processor time for that.
	restarted, converged counts
	looks                int64
	cpu                  time.Duration
	// lost is the number of resources that are not recorded anywhere in the end.
	lost int64
}

// counts are numbers of requests to the API server.
type counts struct{ reads, writes, events int64 }

func (c counts) minus(d counts) counts {
	return counts{c.reads - d.reads, c.writes - d.writes, c.events - d.events}
}

func (c counts) all() int64 { return c.reads + c.writes + c.events }

// traffic counts the requests of an operator, except watches.
type traffic struct {
	mu  sync.Mutex
	now counts
}

func (t *traffic) counts() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (t *traffic) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		t.mu.Lock()
		switch {
		case r.URL.Query().Get("watch") != "" || strings.HasSuffix(r.URL.Path, "accessreviews"):
		case strings.Contains(r.URL.Path, "/events"):
			t.now.events++
		case r.Method == http.MethodGet:
			t.now.reads++
		default:
			t.now.writes++
		}
		t.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// measure runs an operator twice, in a separate namespace.
func measure(ctx context.Context, c *cluster.Cluster, name string, s settings) (*measurement, error) {
	if err := prepare(ctx, c.Client, name, s); err != nil {
		return nil, err
	}
	r, m := &rack{cells: map[string]cell{}, calls: map[string]int64{}}, &measurement{}
	sent, stop := start(ctx, c.Config, name, r, timing.never)
	err := converged(ctx, c.Client, name, s.objects)
	if err := errors.Join(err, settled(ctx, sent), stop()); err != nil {
		return nil, err
	}
	m.sent, m.creations = sent.counts(), r.count("create")
	m.calls = m.creations + r.count("find") + r.count("look")
	sent, stop = start(ctx, c.Config, name, r, s.poll)
	if err := settled(ctx, sent); err != nil {
		return nil, errors.Join(err, stop())
	}
	m.restarted = sent.counts()
	looks, cpu := r.count("look"), processorTime()
	err = sleep(ctx, s.during)
	m.looks, m.cpu, m.converged = r.count("look")-looks, processorTime()-cpu, sent.counts().minus(m.restarted)
	m.lost = int64(r.held() - s.objects*s.resources)
	return m, errors.Join(err, stop())
}

// prepare creates a namespace, and the objects in it.
func prepare(ctx context.Context, c client.Client, namespace string, s settings) error {
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	for i := range s.objects {
		b := &box.Box{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("box-", i), Namespace: namespace}}
		b.Spec.Data = map[string]string{}
		for n := range s.resources {
			b.Spec.Data[fmt.Sprint("cell-", n)] = "small"
		}
		if err := c.Create(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// start runs an operator until stop is called.
func start(ctx context.Context, config *rest.Config, name string, r *rack, poll time.Duration) (sent *traffic, stop func() error) {
	sent = &traffic{}
	config = rest.CopyConfig(config)
	config.Wrap(sent.wrap)
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- contenders[name](running, config, name, r, poll) }()
	return sent, func() error {
		cancel()
		return <-ended
	}
}

// converged returns when all objects are ready.
func converged(ctx context.Context, c client.Client, namespace string, objects int) error {
	ready := 0
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		var all box.BoxList
		err := c.List(ctx, &all, client.InNamespace(namespace))
		ready = 0
		for i := range all.Items {
			if meta.IsStatusConditionTrue(all.Items[i].Status.Conditions, "Ready") {
				ready++
			}
		}
		return ready == objects, err
	})
	if err != nil {
		return fmt.Errorf("%d of %d objects are ready: %w", ready, objects, err)
	}
	return nil
}

// settled returns when an operator that has sent requests sends none for a while.
func settled(ctx context.Context, sent *traffic) error {
	for last := (counts{}); ; {
		if err := sleep(ctx, timing.quiet); err != nil {
			return err
		}
		now := sent.counts()
		if now == last && now.all() > 0 {
			return nil
		}
		last = now
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// processorTime returns the processor time of this process, which is mainly the operator.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // this cannot fail for the current process
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
