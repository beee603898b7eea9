package reconcile_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/runtime/queue"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// calm is a rate at which a test can distinguish a storm from the permitted reconciles.
const calm = 5

// storms are objects that change continuously: each change has a number that is visible in a child in the end.
var storms = []struct {
	name   string
	change func(w *fixture, hot *boxtest.Box, n string)
}{
	{"its spec", func(w *fixture, hot *boxtest.Box, n string) {
		w.Change(hot, func() { hot.Spec.Data["n"] = n })
	}},
	{"what it reads", func(w *fixture, _ *boxtest.Box, n string) {
		source := w.EmptyConfigMap("source")
		w.Change(source, func() { source.Data = map[string]string{"n": n} })
	}},
	{"a child that flaps", func(w *fixture, _ *boxtest.Box, n string) {
		child := w.EmptyConfigMap("hot")
		w.Change(child, func() { child.Data["flaps"] = n })
	}},
}

// stormy composes a ConfigMap from everything that storms change. passes counts the reconciles of the Box hot.
func stormy(passes *atomic.Int64) boxtest.ComposeContextFunc {
	return func(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
		if b.Name != "hot" {
			return boxtest.Copies(b, out)
		}
		passes.Add(1)
		source := boxtest.ConfigMap("source", nil)
		if _, err := out.Get(ctx, source); err != nil {
			return err
		}
		out.Child(boxtest.ConfigMap(b.Name, map[string]string{"spec": b.Spec.Data["n"], "source": source.Data["n"]}),
			operon.ReadyWhen(func(live *unstructured.Unstructured) (bool, string) {
				flaps, _, _ := unstructured.NestedString(live.Object, "data", "flaps")
				n, _ := strconv.Atoi(flaps)
				return n%2 == 0, "it is at odd number " + flaps
			}))
		return nil
	}
}

// Regardless of what changes continuously, the object is not reconciled more often than its rate limit allows, other objects
// are not delayed, and the last change is applied.
func TestStormsAreDelayedAndNotLost(t *testing.T) {
	t.Parallel()
	for _, storm := range storms {
		t.Run(storm.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			var passes atomic.Int64
			w.Run(stormy(&passes), operon.RateLimit(calm, time.Second))
			w.Must(w.Client.Create(t.Context(), w.EmptyConfigMap("source")))
			hot := w.Box("hot", map[string]string{"n": "0"})
			w.IsReady(hot)
			before, started, changes := passes.Load(), time.Now(), 0
			for time.Since(started) < 3*time.Second {
				changes++
				storm.change(w, hot, strconv.Itoa(changes))
				if changes == 20 {
					w.IsReady(w.Box("calm", nil))
				}
			}
			got := passes.Load() - before
			took := time.Since(started)
			allowed := int64(calm + took/time.Second + 2)
			if got > allowed {
				t.Errorf("%d changes in %s led to %d reconciles, want at most %d", changes, took, got, allowed)
			}
			t.Logf("%d changes in %s: %d reconciles", changes, took, got)
			w.settles(storm.name, changes)
		})
	}
}

// settles waits until the Box hot shows the last change.
func (w *fixture) settles(storm string, changes int) {
	w.Helper()
	last := strconv.Itoa(changes)
	switch {
	case storm == "its spec":
		w.Holds(boxtest.ConfigMap("hot", nil), map[string]string{"spec": last, "source": ""})
	case storm == "what it reads":
		w.Holds(boxtest.ConfigMap("hot", nil), map[string]string{"spec": "0", "source": last})
	case changes%2 == 0:
		w.IsReady(&boxtest.Box{ObjectMeta: w.Meta("hot")})
	default:
		w.Ready(&boxtest.Box{ObjectMeta: w.Meta("hot")}, metav1.ConditionFalse, "ChildNotReady", "odd number "+last)
	}
}

// If an author's code changes an object that triggers its reconcile, it is not called more often than its rate limit allows. If
// this lasts, it is reported to the user.
func TestCodeThatTriggersItselfIsSlowedAndTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const burst = 20
	clock := clocktesting.NewFakeClock(time.Now())
	var observed atomic.Int64
	restless := boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, b *boxtest.Box, _ *operon.Observed) error {
		changed := b.DeepCopyObject().(*boxtest.Box)
		changed.Annotations = map[string]string{"passes": strconv.FormatInt(observed.Add(1), 10)}
		return w.Client.Patch(ctx, changed, client.MergeFrom(b))
	}}
	w.RunWith(w.Config, operon.Config{Namespace: w.Namespace, Clock: clock},
		operon.API(boxtest.AddToScheme), operon.Manage(restless, operon.RateLimit(burst, 10*time.Second)))
	w.Box("restless", nil)
	exactly := func(want int64) func(context.Context) error {
		return func(context.Context) error {
			if got := observed.Load(); got != want {
				return fmt.Errorf("reconciled %d times, want %d", got, want)
			}
			return nil
		}
	}
	w.Eventually("the burst", exactly(burst))
	w.Still("reconciles after the burst", exactly(burst))
	clock.Step(40 * time.Second)
	w.Poke(&boxtest.Box{ObjectMeta: w.Meta("restless")})
	w.Eventually("four more reconciles", exactly(burst+4))
	w.Event("Delayed", "latest trigger: its metadata changed", "once every 10s")
}

// Normal convergence is never delayed: an object with many child objects that become ready one by one stays far below the
// burst.
func TestConvergenceStaysWithinTheBurst(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var passes atomic.Int64
	w.Run(boxtest.ComposeFunc(func(_ *boxtest.Box, out *operon.Composition) error {
		passes.Add(1)
		for i := range 10 {
			out.Child(boxtest.ConfigMap(fmt.Sprint("config-", i), nil))
			out.Child(deployment(fmt.Sprint("web-", i), 5))
		}
		return nil
	}))
	w.IsReady(w.Box("large", nil))
	if got := passes.Load(); got > int64(queue.DefaultRate.Burst/2) {
		t.Errorf("%d reconciles until it was ready, of a burst of %d", got, queue.DefaultRate.Burst)
	}
	t.Logf("%d reconciles", passes.Load())
}
