package operon_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/local/localtest"
)

// did records what steps have done.
type did struct {
	mu   sync.Mutex
	done []string
}

func (d *did) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.done)
}

func (d *did) add(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, what)
}

// step returns a step that records what it does.
func (d *did) step(name string, then func(context.Context, *durable.Attempt) error) durable.Step[string] {
	return durable.Step[string]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (string, error) {
			if then != nil {
				if err := then(ctx, a); err != nil {
					return "", err
				}
			}
			d.add("do " + name)
			return name, nil
		},
		Undo: func(context.Context, *durable.Attempt, string) error {
			d.add("undo " + name)
			return nil
		},
	}
}

func take[T any](ctx context.Context, run *durable.Run, all ...durable.Step[T]) error {
	for _, step := range all {
		if _, err := durable.Do(ctx, run, step); err != nil {
			return err
		}
	}
	return nil
}

// Work is done once, with at most two writes for each step, and causes no requests when it has ended.
func TestWorkIsDoneOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var d did
	worker := working{copies, func(ctx context.Context, b *Box, run *durable.Run) error {
		var all []durable.Step[string]
		for i := range 4 {
			all = append(all, d.step(fmt.Sprint(i), nil))
		}
		return take(ctx, run, all...)
	}}
	requests, stop := w.run(worker)
	b := w.box("one", map[string]string{"a": "b"})
	w.isReady(b)
	if b.Status.Journal.Phase != journal.Succeeded || len(d.all()) != 4 {
		t.Fatalf("the work came to %+v, %q", b.Status.Journal, d.all())
	}
	var writes []string
	for _, request := range requests.all(true) {
		if strings.Contains(request, "/boxes/") {
			writes = append(writes, request)
		}
	}
	t.Logf("4 steps took %d writes to the object: %q", len(writes), writes)
	if len(writes) > 2*4 {
		t.Errorf("4 steps took %d writes, want 8 at most: %q", len(writes), writes)
	}
	w.event("Created")
	w.event("Ready")
	before := len(requests.all(false))
	w.poke(b)
	w.still("no request for work that is over", func(context.Context) error {
		if all := requests.all(false); len(all) > before {
			return fmt.Errorf("there was %q", all[before:])
		}
		return nil
	})
	stop()
	again, _ := w.run(worker)
	w.poke(b)
	w.still("no write after a restart", func(context.Context) error {
		if all := again.all(true); len(all) > 0 {
			return fmt.Errorf("there was %q", all)
		}
		return nil
	})
	if all := d.all(); len(all) != 4 {
		t.Errorf("the steps did %q", all)
	}
}

// A waiting step is called again when an object that it reads changes, and child objects are retained in the meantime.
func TestStepThatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var d did
	w.run(working{copies, func(ctx context.Context, b *Box, run *durable.Run) error {
		return take(ctx, run, d.step("wait", func(ctx context.Context, a *durable.Attempt) error {
			found, err := a.Get(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "signal"}})
			if err != nil || found {
				return err
			}
			return durable.Wait("there is no signal yet")
		}))
	}})
	b := w.box("one", map[string]string{"a": "b"})
	w.ready(b, metav1.ConditionFalse, durable.ReasonWaiting, "step wait: there is no signal yet")
	w.eventually("the child to be there all the same", func(ctx context.Context) error {
		return w.client.Get(ctx, client.ObjectKeyFromObject(b), &corev1.ConfigMap{})
	})
	signal := config("signal", nil)
	signal.Namespace = w.Namespace
	w.must(w.client.Create(w.Context(), signal))
	w.isReady(b)
}

// A step that fails permanently stalls the object after the completed steps were undone. A new spec starts the work again.
func TestWorkThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var d did
	w.run(working{nothing, func(ctx context.Context, b *Box, run *durable.Run) error {
		want, err := durable.Begin(run, b.Spec.Data["want"])
		if err != nil {
			return err
		}
		return take(ctx, run, d.step("first", nil), d.step("second", func(context.Context, *durable.Attempt) error {
			if want == "bad" {
				return durable.Fail(errors.New("it is bad"))
			}
			return nil
		}))
	}})
	b := w.box("one", map[string]string{"want": "bad"})
	w.ready(b, metav1.ConditionFalse, durable.ReasonFailed, "step second failed: it is bad")
	if want := []string{"do first", "undo second", "undo first"}; !slices.Equal(d.all(), want) || len(b.Finalizers) > 0 {
		t.Errorf("the steps did %q, want %q; the finalizers are %q", d.all(), want, b.Finalizers)
	}
	w.change(b, func() { b.Spec.Data["want"] = "good" })
	w.isReady(b)
	if b.Status.Journal.Run != 2 {
		t.Errorf("it is run %d", b.Status.Journal.Run)
	}
}

// The deletion of an object stops the running step, and completed steps are undone.
func TestWorkOnAnObjectThatGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var d did
	running := make(chan struct{})
	w.run(working{nothing, func(ctx context.Context, b *Box, run *durable.Run) error {
		return take(ctx, run, d.step("first", nil), d.step("long", func(ctx context.Context, a *durable.Attempt) error {
			close(running)
			<-ctx.Done()
			return ctx.Err()
		}))
	}})
	b := w.box("one", nil)
	localtest.Receive(t, "the long step", running)
	w.must(w.client.Delete(w.Context(), b))
	w.eventually("it to go", func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("it is there: %w", errors.Join(err, errors.New(fmt.Sprint(b.Status.Journal))))
		}
		return nil
	})
	if want := []string{"do first", "undo long", "undo first"}; !slices.Equal(d.all(), want) {
		t.Errorf("the steps did %q, want %q", d.all(), want)
	}
}

// A journal that a newer operator wrote is reported and not changed.
func TestNewerJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.box("one", nil)
	newer := `{"status":{"journal":{"version":7,"steps":{"first":{"made":true}}}}}`
	w.must(w.client.Status().Patch(w.Context(), b, client.RawPatch("application/merge-patch+json", []byte(newer))))
	var d did
	w.run(working{nothing, func(ctx context.Context, b *Box, run *durable.Run) error { return take(ctx, run, d.step("first", nil)) }})
	w.ready(b, metav1.ConditionFalse, "JournalUnreadable", "is of version 7, and this operator knows 1")
	text, err := b.Status.Journal.MarshalJSON()
	if err != nil || string(text) != `{"steps":{"first":{"made":true}},"version":7}` || len(d.all()) > 0 {
		t.Errorf("the journal is %s (%v), and the steps did %q", text, err, d.all())
	}
}

// If two operators overlap, for example because one was frozen and another took over, only one continues: the other writes
// nothing more and starts no step.
func TestOperatorsOverlap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var d did
	frozen, thaw := make(chan struct{}), make(chan struct{})
	worker := working{nothing, func(ctx context.Context, b *Box, run *durable.Run) error {
		return take(ctx, run, d.step("slow", func(_ context.Context, a *durable.Attempt) error {
			if a.Number == 1 {
				close(frozen)
				<-thaw
			}
			return nil
		}), d.step("after", nil))
	}}
	w.run(worker)
	b := w.box("one", nil)
	localtest.Receive(t, "the slow step", frozen)
	w.run(worker)
	w.isReady(b)
	close(thaw)
	w.eventually("the frozen one to end its step", func(context.Context) error {
		if all := d.all(); len(all) < 3 {
			return fmt.Errorf("the steps did %q", all)
		}
		return nil
	})
	w.still("nothing else to be done", func(ctx context.Context) error {
		now := &Box{}
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(b), now); err != nil {
			return err
		}
		if want := []string{"do slow", "do after", "do slow"}; !slices.Equal(d.all(), want) || now.ResourceVersion != b.ResourceVersion {
			return fmt.Errorf("the steps did %q, and the journal is %+v", d.all(), now.Status.Journal)
		}
		return nil
	})
}
