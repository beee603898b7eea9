package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// Work is done once, with at most two writes for each step, and causes no requests when it has ended.
func TestWorkIsDoneOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var d boxtest.Record
	worker := boxtest.Workflow{ComposeFunc: boxtest.Copies, Work: func(ctx context.Context, b *boxtest.Box, run *durable.Run) error {
		var all []durable.Step[string]
		for i := range 4 {
			all = append(all, d.Step(fmt.Sprint(i), nil))
		}
		return boxtest.DoAll(ctx, run, all...)
	}}
	requests, stop := w.Run(worker)
	b := w.Box("one", map[string]string{"a": "b"})
	w.IsReady(b)
	if b.Status.Journal.Phase != journal.Succeeded || len(d.All()) != 4 {
		t.Fatalf("the work came to %+v, %q", b.Status.Journal, d.All())
	}
	var writes []string
	for _, request := range requests.All(true) {
		if strings.Contains(request, "/boxes/") {
			writes = append(writes, request)
		}
	}
	t.Logf("4 steps took %d writes to the object: %q", len(writes), writes)
	if len(writes) > 2*4 {
		t.Errorf("4 steps took %d writes, want 8 at most: %q", len(writes), writes)
	}
	w.Event("Created")
	w.Event("Ready")
	before := len(requests.All(false))
	w.Poke(b)
	w.Still("no request for work that is over", func(context.Context) error {
		if all := requests.All(false); len(all) > before {
			return fmt.Errorf("there was %q", all[before:])
		}
		return nil
	})
	stop()
	again, _ := w.Run(worker)
	w.Poke(b)
	w.Still("no write after a restart", func(context.Context) error {
		if all := again.All(true); len(all) > 0 {
			return fmt.Errorf("there was %q", all)
		}
		return nil
	})
	if all := d.All(); len(all) != 4 {
		t.Errorf("the steps did %q", all)
	}
}

// A waiting step is called again when an object that it reads changes, and child objects are retained in the meantime.
func TestStepThatWaits(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var d boxtest.Record
	w.Run(boxtest.Workflow{ComposeFunc: boxtest.Copies, Work: func(ctx context.Context, b *boxtest.Box, run *durable.Run) error {
		return boxtest.DoAll(ctx, run, d.Step("wait", func(ctx context.Context, a *durable.Attempt) error {
			found, err := a.Get(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "signal"}})
			if err != nil || found {
				return err
			}
			return durable.Wait("there is no signal yet")
		}))
	}})
	b := w.Box("one", map[string]string{"a": "b"})
	w.Ready(b, metav1.ConditionFalse, durable.ReasonWaiting, "step wait: there is no signal yet")
	w.Eventually("the child to be there all the same", func(ctx context.Context) error {
		return w.Client.Get(ctx, client.ObjectKeyFromObject(b), &corev1.ConfigMap{})
	})
	signal := boxtest.ConfigMap("signal", nil)
	signal.Namespace = w.Namespace
	w.Must(w.Client.Create(w.Context(), signal))
	w.IsReady(b)
}

// A step that is done does not run again because a read after it fails.
func TestReadThatFailsAfterAStep(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var d boxtest.Record
	var reads atomic.Int64
	w.Run(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: func(ctx context.Context, _ *boxtest.Box, run *durable.Run) error {
		if err := boxtest.DoAll(ctx, run, d.Step("first", nil)); err != nil {
			return err
		}
		if reads.Add(1) <= 2 {
			return run.Retry(errors.New("the read failed"))
		}
		return boxtest.DoAll(ctx, run, d.Step("second", nil))
	}})
	w.IsReady(w.Box("one", nil))
	if want := []string{"do first", "do second"}; !slices.Equal(d.All(), want) {
		t.Errorf("the steps did %q, want %q", d.All(), want)
	}
}

// An object whose first step was interrupted before the journal was stored can be deleted.
func TestFinalizerOfStepsWithoutAJournal(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := &boxtest.Box{ObjectMeta: w.Meta("one"), Spec: boxtest.BoxSpec{Data: map[string]string{"want": "it"}}}
	b.Finalizers = []string{reconcile.StepsFinalizer}
	w.Must(w.Client.Create(t.Context(), b))
	w.Must(w.Client.Delete(t.Context(), b))
	var d boxtest.Record
	w.Run(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: func(ctx context.Context, b *boxtest.Box, run *durable.Run) error {
		if _, err := durable.Begin(run, b.Spec.Data["want"]); err != nil {
			return err
		}
		return boxtest.DoAll(ctx, run, d.Step("first", nil))
	}})
	w.Gone(b)
	if all := d.All(); len(all) > 0 {
		t.Errorf("the steps did %q", all)
	}
}

// A step that fails permanently stalls the object after the completed steps were undone. A new spec starts the work again.
func TestWorkThatFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var d boxtest.Record
	w.Run(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: func(ctx context.Context, b *boxtest.Box, run *durable.Run) error {
		want, err := durable.Begin(run, b.Spec.Data["want"])
		if err != nil {
			return err
		}
		return boxtest.DoAll(ctx, run, d.Step("first", nil), d.Step("second", func(context.Context, *durable.Attempt) error {
			if want == "bad" {
				return durable.Fail(errors.New("it is bad"))
			}
			return nil
		}))
	}})
	b := w.Box("one", map[string]string{"want": "bad"})
	w.Ready(b, metav1.ConditionFalse, durable.ReasonFailed, "step second failed: it is bad")
	if want := []string{"do first", "undo second", "undo first"}; !slices.Equal(d.All(), want) || len(b.Finalizers) > 0 {
		t.Errorf("the steps did %q, want %q; the finalizers are %q", d.All(), want, b.Finalizers)
	}
	w.Change(b, func() { b.Spec.Data["want"] = "good" })
	w.IsReady(b)
	if b.Status.Journal.Run != 2 {
		t.Errorf("it is run %d", b.Status.Journal.Run)
	}
}

// The deletion of an object stops the running step, and completed steps are undone.
func TestWorkOnAnObjectThatGoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var d boxtest.Record
	running := make(chan struct{})
	w.Run(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: func(ctx context.Context, b *boxtest.Box, run *durable.Run) error {
		return boxtest.DoAll(ctx, run, d.Step("first", nil), d.Step("long", func(ctx context.Context, a *durable.Attempt) error {
			close(running)
			<-ctx.Done()
			return ctx.Err()
		}))
	}})
	b := w.Box("one", nil)
	localtest.Receive(t, "the long step", running)
	w.Must(w.Client.Delete(w.Context(), b))
	w.Eventually("it to go", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it is there: %w", errors.Join(err, errors.New(fmt.Sprint(b.Status.Journal))))
		}
		return nil
	})
	if want := []string{"do first", "undo long", "undo first"}; !slices.Equal(d.All(), want) {
		t.Errorf("the steps did %q, want %q", d.All(), want)
	}
}

// The deletion of an object without finalizers stops the running step, too.
func TestWorkOnAnObjectThatIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	running, ended := make(chan struct{}), make(chan struct{})
	w.Run(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: func(ctx context.Context, _ *boxtest.Box, run *durable.Run) error {
		return boxtest.DoAll(ctx, run, durable.Step[string]{Name: "long", Do: func(ctx context.Context, _ *durable.Attempt) (string, error) {
			close(running)
			<-ctx.Done()
			close(ended)
			return "", ctx.Err()
		}})
	}})
	b := w.Box("one", nil)
	localtest.Receive(t, "the long step", running)
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(b)
	localtest.Receive(t, "the end of the long step", ended)
}

// A step that is done does not run again because of a mistake in the code after it.
func TestMistakeAfterAStep(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var d boxtest.Record
	var calls atomic.Int64
	w.Run(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: func(ctx context.Context, _ *boxtest.Box, run *durable.Run) error {
		calls.Add(1)
		return boxtest.DoAll(ctx, run, d.Step("same", nil), d.Step("same", nil))
	}})
	b := w.Box("one", nil)
	w.Ready(b, metav1.ConditionFalse, "StepsChanged", `two steps are named "same"`)
	for calls.Load() < 3 {
		before := calls.Load()
		w.Poke(b)
		w.Eventually("another reconcile", func(context.Context) error {
			if calls.Load() > before {
				return nil
			}
			return errors.New("none yet")
		})
	}
	if want := []string{"do same"}; !slices.Equal(d.All(), want) {
		t.Errorf("the steps did %q, want %q", d.All(), want)
	}
}

// If a user removes the journal of a workflow, it starts over with other keys: what it left is not mistaken for what it does now.
func TestKeysWithoutTheJournal(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	keys := make(chan string, 9)
	w.Run(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: func(ctx context.Context, _ *boxtest.Box, run *durable.Run) error {
		return boxtest.DoAll(ctx, run, durable.Step[string]{Name: "only", Do: func(_ context.Context, a *durable.Attempt) (string, error) {
			keys <- a.Key
			return a.Key, nil
		}})
	}})
	b := w.Box("one", nil)
	w.IsReady(b)
	before := localtest.Receive(t, "the first key", keys)
	w.Must(w.Client.Status().Patch(t.Context(), b, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"journal":null}}`))))
	if after := localtest.Receive(t, "the second key", keys); after == before {
		t.Errorf("both runs have the key %s", after)
	}
}

// A journal that a newer operator wrote is reported and not changed.
func TestNewerJournal(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.Box("one", nil)
	newer := `{"status":{"journal":{"version":7,"steps":{"first":{"made":true}}}}}`
	w.Must(w.Client.Status().Patch(w.Context(), b, client.RawPatch("application/merge-patch+json", []byte(newer))))
	var d boxtest.Record
	w.Run(boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: func(ctx context.Context, b *boxtest.Box, run *durable.Run) error {
		return boxtest.DoAll(ctx, run, d.Step("first", nil))
	}})
	w.Ready(b, metav1.ConditionFalse, "JournalUnreadable", "is of version 7, and this operator knows 1")
	text, err := b.Status.Journal.MarshalJSON()
	if err != nil || string(text) != `{"steps":{"first":{"made":true}},"version":7}` || len(d.All()) > 0 {
		t.Errorf("the journal is %s (%v), and the steps did %q", text, err, d.All())
	}
}

// If two operators overlap, for example because one was frozen and another took over, only one continues: the other writes
// nothing more and starts no step.
func TestOperatorsOverlap(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var d boxtest.Record
	frozen, thaw := make(chan struct{}), make(chan struct{})
	worker := boxtest.Workflow{ComposeFunc: boxtest.Nothing, Work: func(ctx context.Context, b *boxtest.Box, run *durable.Run) error {
		return boxtest.DoAll(ctx, run, d.Step("slow", func(_ context.Context, a *durable.Attempt) error {
			if a.Number == 1 {
				close(frozen)
				<-thaw
			}
			return nil
		}), d.Step("after", nil))
	}}
	w.Run(worker)
	b := w.Box("one", nil)
	localtest.Receive(t, "the slow step", frozen)
	w.Run(worker)
	w.IsReady(b)
	close(thaw)
	w.Eventually("the frozen one to end its step", func(context.Context) error {
		if all := d.All(); len(all) < 3 {
			return fmt.Errorf("the steps did %q", all)
		}
		return nil
	})
	w.Still("nothing else to be done", func(ctx context.Context) error {
		now := &boxtest.Box{}
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), now); err != nil {
			return err
		}
		if want := []string{"do slow", "do after", "do slow"}; !slices.Equal(d.All(), want) || now.ResourceVersion != b.ResourceVersion {
			return fmt.Errorf("the steps did %q, and the journal is %+v", d.All(), now.Status.Journal)
		}
		return nil
	})
}
