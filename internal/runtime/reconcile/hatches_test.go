package reconcile_test

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
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// A reconcile that takes too long ends, is reported and retried. One worker is enough for other objects to be reconciled.
func TestTimeoutInCompose(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var cured atomic.Bool
	w.Run(boxtest.ComposeContextFunc(func(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
		if b.Name == "slow" && !cured.Load() {
			<-ctx.Done()
			return ctx.Err()
		}
		return boxtest.Copies(b, out)
	}), operon.Timeout(2*time.Second), operon.Concurrency(1))
	slow := w.Box("slow", nil)
	w.Ready(slow, metav1.ConditionFalse, "TimedOut", "the reconcile exceeded its time limit of 2s in step compose")
	w.Event("TimedOut", "2s")
	w.IsReady(w.Box("good", nil))
	cured.Store(true)
	w.IsReady(slow)
}

// The result of Compose is reported even if Observe takes too long.
func TestTimeoutInObserve(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, _ *boxtest.Box, _ *operon.Observed) error {
		<-ctx.Done()
		return ctx.Err()
	}}, operon.Timeout(2*time.Second))
	w.Ready(w.Box("slow", nil), metav1.ConditionFalse, "TimedOut", "in step observe")
	w.Lives("slow")
}

// An object whose labels no longer match belongs to another operator, also when its children change.
func TestSelectorThatNoLongerMatches(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies), operon.Selector(labels.SelectorFromSet(labels.Set{"tier": "gold"})))
	gold := func(name string) *boxtest.Box {
		b := &boxtest.Box{ObjectMeta: w.Meta(name), Spec: boxtest.BoxSpec{Data: map[string]string{"a": "1"}}}
		b.Labels = map[string]string{"tier": "gold"}
		w.Must(w.Client.Create(t.Context(), b))
		w.IsReady(b)
		return b
	}
	b := gold("first")
	w.Change(b, func() { b.Labels = nil })
	gold("second") // after its event, the operator has seen the one before
	child := w.Lives(b.Name)
	w.Change(child, func() { child.Data["a"] = "2" })
	w.Still("the child is as another client changed it", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil || child.Data["a"] == "2" {
			return err
		}
		return fmt.Errorf("it has the data %v", child.Data)
	})
}

// A child in a namespace to which the operator is not limited is watched there, and deleted with its owner, also after a restart.
func TestChildOutsideOfTheNamespaces(t *testing.T) {
	t.Parallel()
	w, other := newFixture(t), newFixture(t)
	composer := boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		child := boxtest.ConfigMap(b.Name, b.Spec.Data)
		child.Namespace = other.Namespace
		out.Child(child)
		return nil
	})
	_, stop := w.Run(composer)
	b := w.Box("far", map[string]string{"a": "1"})
	w.IsReady(b)
	child := other.Lives(b.Name)
	w.Change(child, func() { child.Data["a"] = "2" })
	other.Holds(boxtest.ConfigMap(b.Name, nil), map[string]string{"a": "1"})
	stop()
	w.Must(w.Client.Delete(t.Context(), b))
	w.Run(composer)
	w.Gone(child)
	w.Gone(b)
}

func TestSeveralNamespaces(t *testing.T) {
	t.Parallel()
	one, two, outside := newFixture(t), newFixture(t), newFixture(t)
	one.RunWith(one.Config, operon.Config{Namespaces: []string{one.Namespace, two.Namespace}}, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
	left := outside.Box("outside", nil)
	one.IsReady(one.Box("first", nil))
	two.IsReady(two.Box("second", nil))
	outside.Still("the other namespace", func(ctx context.Context) error {
		if err := outside.Client.Get(ctx, client.ObjectKeyFromObject(left), left); err != nil {
			return err
		}
		if len(left.Status.Conditions) > 0 {
			return fmt.Errorf("status %+v", left.Status)
		}
		return nil
	})
	outside.Must(outside.Client.Delete(t.Context(), left))
	two.RemoveBoxes()
}

func TestNamespaceThatDoesNotExist(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for name, cfg := range map[string]operon.Config{"at work": {}, "dry run": {DryRun: func(operon.Preview) {}}} {
		ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
		defer cancel()
		cfg.Namespaces = []string{w.Namespace, "no-such-namespace"}
		err := operon.Run(ctx, "mistaken", w.Config, cfg, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(boxtest.Copies)))
		if err == nil || !strings.Contains(err.Error(), `namespace "no-such-namespace" does not exist`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A paused object reports that, is not changed, and catches up when it is resumed.
func TestPause(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("paused", map[string]string{"a": "1"})
	w.IsReady(b)
	w.Change(b, func() { b.Annotations = map[string]string{"operon.dev/paused": "true"} })
	w.condition(b, "Paused", metav1.ConditionTrue)
	w.condition(b, "Reconciling", metav1.ConditionFalse)
	w.Event("Paused", "operon.dev/paused")
	w.Change(b, func() { b.Spec.Data["a"] = "2" })
	w.Still("the pause", func(ctx context.Context) error {
		child := w.EmptyConfigMap(b.Name)
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(child), child)
		if err == nil && child.Data["a"] != "1" {
			return errors.New("the child was changed")
		}
		return err
	})
	w.condition(b, "Ready", metav1.ConditionTrue) // for the last generation that was seen
	if b.Status.ObservedGeneration >= b.Generation {
		t.Errorf("status speaks of generation %d of %d, which nobody looked at", b.Status.ObservedGeneration, b.Generation)
	}
	w.Change(b, func() { delete(b.Annotations, "operon.dev/paused") })
	w.Holds(boxtest.ConfigMap(b.Name, nil), map[string]string{"a": "2"})
	w.IsReady(b)
	for _, gone := range []string{"Paused", "Reconciling"} {
		if c := meta.FindStatusCondition(b.Status.Conditions, gone); c != nil {
			t.Errorf("there is still a condition %+v", c)
		}
	}
	w.Event("Resumed", "operon.dev/paused")
}

// The readiness of an object that is paused from its start is unknown. If it is deleted, it is removed.
func TestPauseFromTheStart(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := &boxtest.Box{ObjectMeta: w.Meta("asleep")}
	b.Annotations = map[string]string{"operon.dev/paused": "true"}
	b.Finalizers = []string{"operon.dev/children"}
	w.Must(w.Client.Create(t.Context(), b))
	w.condition(b, "Paused", metav1.ConditionTrue)
	w.condition(b, "Ready", metav1.ConditionUnknown)
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(b)
}

// condition waits until a condition has a status.
func (w *fixture) condition(b *boxtest.Box, kind string, status metav1.ConditionStatus) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%s=%s on %s", kind, status, b.Name), func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(b.Status.Conditions, kind); c == nil || c.Status != status {
			return fmt.Errorf("conditions %+v", b.Status.Conditions)
		}
		return nil
	})
}
