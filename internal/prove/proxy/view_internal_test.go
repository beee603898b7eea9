package proxy

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/prove/fault"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// A view stays frozen longer in proportion to the slowness of the cluster, whether the operator is quiet or not.
func TestViewsOfSlowClusters(t *testing.T) {
	t.Parallel()
	hold := fault.Fault{Kind: fault.Hold, Quiet: metav1.Duration{Duration: time.Second}, For: metav1.Duration{Duration: 10 * time.Second}}
	for name, test := range map[string]struct {
		slowness func() float64
		open     int
		want     time.Duration
	}{
		"quiet":             {nil, 0, time.Second},
		"busy":              {nil, 1, 10 * time.Second},
		"quiet on slow one": {func() float64 { return 2.5 }, 0, 2500 * time.Millisecond},
		"busy on slow one":  {func() float64 { return 2.5 }, 1, 25 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &Proxy{alive: t.Context(), options: Options{Slowness: test.slowness}}
			p.meter.now.Open = test.open
			one := &view{fault: hold, beganAt: time.Now(), begun: make(chan struct{})}
			close(one.begun)
			p.untilQuiet(one)
			if took := time.Since(one.beganAt); took != test.want {
				t.Errorf("%s: it is frozen for %s, want %s", name, took, test.want)
			}
		})
	}
}

// An instance whose watch was ended sees an earlier state until it watches the same objects again.
func TestBlind(t *testing.T) {
	t.Parallel()
	p := &Proxy{views: newViews()}
	watch := func(query string) *frames {
		x := &exchange{Request: requestlog.Request{Resource: "boxes", Instance: 1}, to: &url.URL{RawQuery: query}}
		return &frames{p: p, x: x, form: forms[runtime.ContentTypeJSON]}
	}
	one, other := watch("labelSelector=a"), watch("labelSelector=b")
	one.expire(true)
	if !p.views.frozenFor(1) || p.views.frozenFor(2) {
		t.Error("want the instance to see an earlier state, and no other one")
	}
	p.views.sees(other.watcher())
	if !p.views.frozenFor(1) {
		t.Error("another watch counts as the one that was ended")
	}
	p.views.sees(one.watcher())
	if p.views.frozenFor(1) {
		t.Error("the instance watches again: want it to see the current state")
	}
}
