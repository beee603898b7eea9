package apply_test

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
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// oppose starts another controller that watches a ConfigMap and immediately undoes the changes of the operator, until the
// returned function is called.
func (w *fixture) oppose(name string, undo func(context.Context, client.Client, *corev1.ConfigMap) error) (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	watching, err := client.NewWithWatch(w.Config, client.Options{})
	w.Must(err)
	events, err := watching.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(w.Namespace), client.MatchingFields{"metadata.name": name})
	w.Must(err)
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
	{"is another version of the operator", "box-operator keeps changing metadata.annotations.operon.dev/applied of ConfigMap fought", func(ctx context.Context, c client.Client, child *corev1.ConfigMap) error {
		before := child.DeepCopy()
		child.Data["a"], child.Annotations[plan.HashAnnotation] = "older", "older"
		return c.Patch(ctx, child, client.MergeFrom(before), client.FieldOwner("box-operator"))
	}},
	{"deletes it", "somebody keeps deleting ConfigMap fought", func(ctx context.Context, c client.Client, child *corev1.ConfigMap) error {
		return c.Delete(ctx, child)
	}},
}

func composed(b *boxtest.Box, out *operon.Composition) error {
	out.Child(boxtest.ConfigMap(b.Name, map[string]string{"a": "composed"}))
	return nil
}

// A contest is reported, and slows the operator but never stops it. When it has ended, it is not reported any more.
func TestContests(t *testing.T) {
	t.Parallel()
	for _, opponent := range opponents {
		t.Run(opponent.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			clock := clocktesting.NewFakeClock(time.Now())
			requests, _ := w.RunWith(w.Config, operon.Config{Namespace: w.Namespace, Clock: clock}, operon.API(boxtest.AddToScheme), operon.Manage(boxtest.ComposeFunc(composed)))
			b := w.Box("fought", nil)
			w.IsReady(b)
			stop := w.oppose(b.Name, opponent.undo)
			w.Poke(b)
			w.Must(client.IgnoreNotFound(w.Client.Delete(t.Context(), w.EmptyConfigMap(b.Name)))) // the first blow
			w.Ready(b, metav1.ConditionFalse, "Contested", opponent.told)
			w.Event("Contested", opponent.told)
			if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c == nil || !strings.Contains(c.Message, opponent.told) {
				t.Errorf("condition Contested is %+v", c)
			}
			held := len(writesTo(requests, b.Name))
			w.Still("the repair held back", func(context.Context) error {
				if got := len(writesTo(requests, b.Name)); got > held+1 {
					return fmt.Errorf("%d writes, and %d before", got, held)
				}
				return nil
			})
			w.Eventually("the next repair", func(context.Context) error {
				clock.Step(time.Minute) // the opponent may receive the last watch event only now
				if got := len(writesTo(requests, b.Name)); got <= held {
					return errors.New("there is none")
				}
				return nil
			})
			stop()
			w.Eventually("the last repair", func(ctx context.Context) error {
				clock.Step(time.Minute)
				child := w.EmptyConfigMap(b.Name)
				err := w.Client.Get(ctx, client.ObjectKeyFromObject(child), child)
				if err == nil && child.Data["a"] != "composed" {
					return fmt.Errorf("data %v", child.Data)
				}
				return err
			})
			clock.Step(5 * time.Minute)
			w.Poke(b)
			w.IsReady(b)
			if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c != nil {
				t.Errorf("there is still a condition %+v", c)
			}
		})
	}
}

// A composition that depends on other objects may change back and forth. Nobody else changes the child, and so that is no contest.
func TestCompositionThatChangesBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var mode atomic.Value
	mode.Store("0")
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name, map[string]string{"mode": mode.Load().(string)}))
		return nil
	}))
	b := w.Box("swings", nil)
	w.IsReady(b)
	for i := range 10 {
		wanted := strconv.Itoa((i + 1) % 2)
		mode.Store(wanted)
		w.Poke(b)
		w.Eventually("the child to follow", func(ctx context.Context) error {
			child := w.EmptyConfigMap(b.Name)
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(child), child)
			if err == nil && child.Data["mode"] != wanted {
				return fmt.Errorf("it has %v", child.Data)
			}
			return err
		})
		w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(b), b))
		if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c != nil {
			t.Fatalf("after %d changes, there is a condition %+v", i+1, c)
		}
	}
	w.IsReady(b)
}

// writesTo returns the operator's writes to a ConfigMap.
func writesTo(requests *boxtest.Traffic, name string) []string {
	var writes []string
	for _, request := range requests.All(true) {
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
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("told", map[string]string{"a": "1", "b": "1"})
	w.IsReady(b)
	child := w.EmptyConfigMap(b.Name)
	for _, field := range []string{"a", "b"} {
		w.Change(child, func() { child.Data[field] = "changed" })
		w.Holds(child, b.Spec.Data)
	}
	w.Event("Repaired", "data.a")
	w.Event("Repaired", "data.b")
	var list eventsv1.EventList
	w.Must(w.Client.List(t.Context(), &list, client.InNamespace(w.Namespace)))
	for _, e := range list.Items {
		if e.Reason == "Repaired" && (e.Related == nil || e.Related.Name != b.Name || e.Related.FieldPath == "") {
			t.Errorf("an event does not refer to the child: %+v", e.Related)
		}
	}
}

// A user who changes the spec back and forth causes no contest.
func TestSpecToAndFroIsNoContest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name, b.Spec.Data))
		return nil
	}))
	b := w.Box("edited", map[string]string{"a": "0"})
	for i := range 10 {
		data := map[string]string{"a": strconv.Itoa(i % 2)}
		w.Change(b, func() { b.Spec.Data = data })
		w.Holds(w.EmptyConfigMap(b.Name), data)
		w.IsReady(b)
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c != nil {
		t.Errorf("there is a condition %+v", c)
	}
}

// A child that its owner leaves to others and takes over again, however often, causes no contest.
func TestHandOverIsNoContest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var step atomic.Pointer[string]
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		switch *step.Load() {
		case "keep":
			out.Child(boxtest.ConfigMap(b.Name, map[string]string{"a": "1"}), operon.Adopt())
		case "prepare":
			out.Child(boxtest.ConfigMap(b.Name, map[string]string{"a": "1"}), operon.Orphan())
		}
		return nil
	}))
	keep, prepare, leave := "keep", "prepare", "leave"
	step.Store(&keep)
	b, child := w.Box("handed", nil), w.EmptyConfigMap("handed")
	for range 4 {
		for _, marks := range [][2]string{{keep, "true "}, {prepare, "true orphan"}, {leave, "false "}} {
			step.Store(&marks[0])
			w.Poke(b)
			w.Eventually("the ConfigMap is "+marks[1], func(ctx context.Context) error {
				err := w.Client.Get(ctx, client.ObjectKeyFromObject(child), child)
				if got := fmt.Sprintf("%t %s", child.Labels["operon.dev/owner"] != "", child.Annotations["operon.dev/on-removal"]); err == nil && got != marks[1] {
					return fmt.Errorf("it is %s", got)
				}
				return err
			})
		}
	}
	w.IsReady(b)
	if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c != nil {
		t.Errorf("there is a condition %+v", c)
	}
}
