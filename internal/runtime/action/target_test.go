package action

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
)

// carry executes an Action as far as possible.
func (p *place) carry(t *testing.T, r *Runner, a *v1alpha1.Action) {
	t.Helper()
	run := durable.New(durable.Config{
		Object: string(a.UID), Journal: a.Status.Journal, Clock: clock.RealClock{}, Client: p, Reader: reader{p},
		Save:    func(_ context.Context, j *journal.Journal) (*journal.Journal, error) { return j, nil },
		Confirm: func(context.Context) error { return nil },
	})
	_, err := run.Carry(t.Context(), func(ctx context.Context, run *durable.Run) error { return r.run(ctx, a, run) })
	if err != nil {
		t.Fatal(err)
	}
	a.Status.Journal = run.Journal()
}

// The function of an Action whose target is gone gets only the name of the target, also if another object has that name now.
func TestTargetThatIsGone(t *testing.T) {
	t.Parallel()
	target := func(uid types.UID, data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: "one", UID: uid}, Data: data}
	}
	for name, next := range map[string]*corev1.ConfigMap{"deleted": nil, "recreated": target("uid-2", map[string]string{"of": "another"})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := asked("a", "one")
			a.Spec.Target = v1alpha1.Target{Kind: "ConfigMap", Name: "one"}
			p := newPlace(t, a)
			var got, undone []client.Object
			backup := func(ctx context.Context, target client.Object, act *Context) error {
				got = append(got, target)
				_, err := durable.Do(ctx, act.Run, durable.Step[bool]{
					Name: "dump",
					Do:   func(context.Context, *durable.Attempt) (bool, error) { return false, durable.Wait("for the disk") },
					Undo: func(context.Context, *durable.Attempt, bool) error { undone = append(undone, target); return nil },
				})
				return err
			}
			r := NewRunner(map[schema.GroupKind]Offer{{Kind: "ConfigMap"}: {
				New: func() client.Object { return &corev1.ConfigMap{} },
				Do:  map[string]func(context.Context, client.Object, *Context) error{"backup": backup},
			}}, p)
			first := target("uid-1", map[string]string{"of": "the target"})
			if err := p.Create(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			p.carry(t, r, a)
			if len(got) != 1 || got[0].(*corev1.ConfigMap).Data["of"] != "the target" {
				t.Fatalf("before, it got %+v", got)
			}
			if err := p.Delete(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			if next != nil {
				if err := p.Create(t.Context(), next); err != nil {
					t.Fatal(err)
				}
			}
			p.carry(t, r, a)
			if len(got) != 2 || len(undone) != 1 || !equality.Semantic.DeepEqual(got[1], target("", nil)) || got[1] != undone[0] {
				t.Errorf("it got %+v, and undid %+v", got[1:], undone)
			}
			if j := a.Status.Journal; j.Phase != journal.Canceled || j.Message != "ConfigMap one is gone" {
				t.Errorf("it is %s: %s", j.Phase, j.Message)
			}
		})
	}
}
