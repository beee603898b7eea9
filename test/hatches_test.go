package operon_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
)

// composing is a composer that receives the context.
type composing func(context.Context, *Box, *operon.Composition) error

func (c composing) Compose(ctx context.Context, b *Box, out *operon.Composition) error {
	return c(ctx, b, out)
}

// A reconcile that takes too long ends, is reported and retried. One worker is enough for other objects to be reconciled.
func TestTimeoutInCompose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var cured atomic.Bool
	w.run(composing(func(ctx context.Context, b *Box, out *operon.Composition) error {
		if b.Name == "slow" && !cured.Load() {
			<-ctx.Done()
			return ctx.Err()
		}
		return copies(b, out)
	}), operon.Timeout(2*time.Second), operon.Concurrency(1))
	slow := w.box("slow", nil)
	w.ready(slow, metav1.ConditionFalse, "TimedOut", "the reconcile exceeded its time limit of 2s in step compose")
	w.event("TimedOut", "2s")
	w.isReady(w.box("good", nil))
	cured.Store(true)
	w.isReady(slow)
}

// The result of Compose is reported even if Observe takes too long.
func TestTimeoutInObserve(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(observing{copies, func(ctx context.Context, _ *Box, _ *operon.Observed) error {
		<-ctx.Done()
		return ctx.Err()
	}}, operon.Timeout(2*time.Second))
	w.ready(w.box("slow", nil), metav1.ConditionFalse, "TimedOut", "in step observe")
	w.lives("slow")
}

func TestSeveralNamespaces(t *testing.T) {
	t.Parallel()
	one, two, outside := newWorld(t), newWorld(t), newWorld(t)
	one.runWith(one.Config, operon.Config{Namespaces: []string{one.Namespace, two.Namespace}}, operon.API(addBox), operon.Manage(compose(copies)))
	left := outside.box("outside", nil)
	one.isReady(one.box("first", nil))
	two.isReady(two.box("second", nil))
	outside.still("the other namespace", func(ctx context.Context) error {
		if err := outside.client.Get(ctx, client.ObjectKeyFromObject(left), left); err != nil {
			return err
		}
		if len(left.Status.Conditions) > 0 {
			return fmt.Errorf("status %+v", left.Status)
		}
		return nil
	})
	outside.must(outside.client.Delete(t.Context(), left))
	two.removeBoxes()
}

func TestNamespaceThatDoesNotExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, cfg := range map[string]operon.Config{"at work": {}, "dry run": {DryRun: func(operon.Preview) {}}} {
		ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
		defer cancel()
		cfg.Namespaces = []string{w.Namespace, "no-such-namespace"}
		err := operon.Run(ctx, "mistaken", w.Config, cfg, operon.API(addBox), operon.Manage(compose(copies)))
		if err == nil || !strings.Contains(err.Error(), `namespace "no-such-namespace" does not exist`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A paused object reports that, is not changed, and catches up when it is resumed.
func TestPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(copies))
	b := w.box("paused", map[string]string{"a": "1"})
	w.isReady(b)
	w.change(b, func() { b.Annotations = map[string]string{"operon.dev/paused": "true"} })
	w.condition(b, "Paused", metav1.ConditionTrue)
	w.condition(b, "Reconciling", metav1.ConditionFalse)
	w.event("Paused", "operon.dev/paused")
	w.change(b, func() { b.Spec.Data["a"] = "2" })
	w.still("the pause", func(ctx context.Context) error {
		child := w.configMap(b.Name)
		err := w.client.Get(ctx, client.ObjectKeyFromObject(child), child)
		if err == nil && child.Data["a"] != "1" {
			return errors.New("the child was changed")
		}
		return err
	})
	w.condition(b, "Ready", metav1.ConditionTrue) // for the last generation that was seen
	if b.Status.ObservedGeneration >= b.Generation {
		t.Errorf("status speaks of generation %d of %d, which nobody looked at", b.Status.ObservedGeneration, b.Generation)
	}
	w.change(b, func() { delete(b.Annotations, "operon.dev/paused") })
	w.holds(config(b.Name, nil), map[string]string{"a": "2"})
	w.isReady(b)
	for _, gone := range []string{"Paused", "Reconciling"} {
		if c := meta.FindStatusCondition(b.Status.Conditions, gone); c != nil {
			t.Errorf("there is still a condition %+v", c)
		}
	}
	w.event("Resumed", "operon.dev/paused")
}

// The readiness of an object that is paused from its start is unknown. If it is deleted, it is removed.
func TestPauseFromTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(copies))
	b := &Box{ObjectMeta: w.meta("asleep")}
	b.Annotations = map[string]string{"operon.dev/paused": "true"}
	b.Finalizers = []string{"operon.dev/children"}
	w.must(w.client.Create(t.Context(), b))
	w.condition(b, "Paused", metav1.ConditionTrue)
	w.condition(b, "Ready", metav1.ConditionUnknown)
	w.must(w.client.Delete(t.Context(), b))
	w.gone(b)
}

// condition waits until a condition has a status.
func (w *world) condition(b *Box, kind string, status metav1.ConditionStatus) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s=%s on %s", kind, status, b.Name), func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(b.Status.Conditions, kind); c == nil || c.Status != status {
			return fmt.Errorf("conditions %+v", b.Status.Conditions)
		}
		return nil
	})
}
