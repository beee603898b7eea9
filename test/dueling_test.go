package operon_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
)

// oppose starts another controller that watches a ConfigMap and immediately undoes the changes of the operator, until the
// returned function is called.
func (w *world) oppose(name string, undo func(context.Context, client.Client, *corev1.ConfigMap) error) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	watching, err := client.NewWithWatch(w.Config, client.Options{})
	w.must(err)
	events, err := watching.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(w.Namespace), client.MatchingFields{"metadata.name": name})
	w.must(err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range events.ResultChan() {
			child, ok := event.Object.(*corev1.ConfigMap)
			if !ok || child.Data["a"] != "composed" || child.DeletionTimestamp != nil {
				continue
			}
			if err := undo(ctx, watching, child); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				w.Errorf("the opponent: %v", err)
			}
		}
	}()
	return func() {
		cancel()
		events.Stop()
		<-ended
	}
}

// opponents are the ways in which another controller undoes the changes of the operator.
var opponents = []struct {
	name, told string
	undo       func(context.Context, client.Client, *corev1.ConfigMap) error
}{
	{"changes a field", "rival keeps changing data.a of ConfigMap fought", func(ctx context.Context, c client.Client, child *corev1.ConfigMap) error {
		before := child.DeepCopy()
		child.Data["a"] = "rival"
		return c.Patch(ctx, child, client.MergeFrom(before), client.FieldOwner("rival"))
	}},
	{"replaces all of it", "rival keeps changing metadata.annotations.operon.dev/applied of ConfigMap fought", func(ctx context.Context, c client.Client, child *corev1.ConfigMap) error {
		child.Data, child.Annotations = map[string]string{"a": "rival"}, nil
		return c.Update(ctx, child, client.FieldOwner("rival"))
	}},
	{"deletes it", "somebody keeps deleting ConfigMap fought", func(ctx context.Context, c client.Client, child *corev1.ConfigMap) error {
		return c.Delete(ctx, child)
	}},
}

func composed(b *Box, out *operon.Composition) error {
	out.Child(config(b.Name, map[string]string{"a": "composed"}))
	return nil
}

// A contest is reported, and slows the operator but never stops it. When it has ended, it is not reported any more.
func TestContests(t *testing.T) {
	t.Parallel()
	for _, opponent := range opponents {
		t.Run(opponent.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			clock := clocktesting.NewFakeClock(time.Now())
			requests, _ := w.runWith(w.Config, operon.Config{Namespace: w.Namespace, Clock: clock}, operon.API(addBox), operon.Manage(compose(composed)))
			b := w.box("fought", nil)
			w.isReady(b)
			stop := w.oppose(b.Name, opponent.undo)
			w.poke(b)
			w.must(client.IgnoreNotFound(w.client.Delete(t.Context(), w.configMap(b.Name)))) // the first blow
			w.ready(b, metav1.ConditionFalse, "Contested", opponent.told)
			w.event("Contested", opponent.told)
			if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c == nil || !strings.Contains(c.Message, opponent.told) {
				t.Errorf("condition Contested is %+v", c)
			}
			held := len(writesTo(requests, b.Name))
			w.still("the repair held back", func(context.Context) error {
				if got := len(writesTo(requests, b.Name)); got > held+1 {
					return fmt.Errorf("%d writes, and %d before", got, held)
				}
				return nil
			})
			w.eventually("the next repair", func(context.Context) error {
				clock.Step(time.Minute) // the opponent may receive the last watch event only now
				if got := len(writesTo(requests, b.Name)); got <= held {
					return errors.New("there is none")
				}
				return nil
			})
			stop()
			w.eventually("the last repair", func(ctx context.Context) error {
				clock.Step(time.Minute)
				child := w.configMap(b.Name)
				err := w.client.Get(ctx, client.ObjectKeyFromObject(child), child)
				if err == nil && child.Data["a"] != "composed" {
					return fmt.Errorf("data %v", child.Data)
				}
				return err
			})
			clock.Step(5 * time.Minute)
			w.poke(b)
			w.isReady(b)
			if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c != nil {
				t.Errorf("there is still a condition %+v", c)
			}
		})
	}
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: w.meta(name)}
}

// writesTo returns the operator's writes to a ConfigMap.
func writesTo(requests *traffic, name string) []string {
	var writes []string
	for _, request := range requests.all(true) {
		if strings.HasSuffix(request, "/configmaps/"+name) {
			writes = append(writes, request)
		}
	}
	return writes
}

// Repairs of several fields in a short time are reported separately: the recorder combines events into a series if they differ
// only in their notes.
func TestEachRepairIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(copies))
	b := w.box("told", map[string]string{"a": "1", "b": "1"})
	w.isReady(b)
	child := w.configMap(b.Name)
	for _, field := range []string{"a", "b"} {
		w.change(child, func() { child.Data[field] = "changed" })
		w.holds(child, b.Spec.Data)
	}
	w.event("Repaired", "data.a")
	w.event("Repaired", "data.b")
	var list eventsv1.EventList
	w.must(w.client.List(t.Context(), &list, client.InNamespace(w.Namespace)))
	for _, e := range list.Items {
		if e.Reason == "Repaired" && (e.Related == nil || e.Related.Name != b.Name || e.Related.FieldPath == "") {
			t.Errorf("an event does not refer to the child: %+v", e.Related)
		}
	}
}

// A composer that declares different child objects for the same spec, or two versions of an operator at the same time, are
// detected, too.
func TestComposerThatChangesItsMind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var passes atomic.Int64
	w.run(compose(func(b *Box, out *operon.Composition) error {
		mind := strconv.FormatInt(passes.Add(1)%2, 10)
		out.Child(config(b.Name, map[string]string{"a": mind}))
		return nil
	}))
	b := w.box("fickle", nil)
	w.eventually("a contest", func(ctx context.Context) error {
		w.poke(b)
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, "Contested")
		if c == nil || !strings.Contains(c.Message, "keeps changing metadata.annotations.operon.dev/applied of ConfigMap fickle") {
			return fmt.Errorf("conditions %+v", b.Status.Conditions)
		}
		return nil
	})
}

// A user who changes the spec back and forth causes no contest.
func TestSpecToAndFroIsNoContest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(func(b *Box, out *operon.Composition) error {
		out.Child(config(b.Name, b.Spec.Data))
		return nil
	}))
	b := w.box("edited", map[string]string{"a": "0"})
	for i := range 10 {
		data := map[string]string{"a": strconv.Itoa(i % 2)}
		w.change(b, func() { b.Spec.Data = data })
		w.holds(w.configMap(b.Name), data)
		w.isReady(b)
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c != nil {
		t.Errorf("there is a condition %+v", c)
	}
}
