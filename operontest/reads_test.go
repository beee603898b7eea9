package operontest_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/operontest"
)

// looking reads the ConfigMaps of a label while it shines, and counts how often it is asked.
type looking struct{ asked *int }

func (looking) Compose(context.Context, *Lamp, *operon.Composition) error { return nil }

func (c looking) Observe(ctx context.Context, l *Lamp, seen *operon.Observed) error {
	*c.asked++
	if l.Spec.Watts == 0 {
		return nil
	}
	return seen.List(ctx, &corev1.ConfigMapList{}, client.MatchingLabels{"switch": l.Name})
}

// The object is reconciled for what its last reconcile read, and for nothing else.
func TestReconciledForWhatIsRead(t *testing.T) {
	t.Parallel()
	asked := 0
	times := func(want int) func(*Lamp) error {
		return func(*Lamp) error {
			if asked != want {
				return fmt.Errorf("it was asked %d times, want %d", asked, want)
			}
			return nil
		}
	}
	appears := func(name, of string) []operontest.Change {
		return []operontest.Change{operontest.Create(button(name, of))}
	}
	operontest.New(looking{&asked}, addLamp).RunOne(t, lampCase{
		Object: lamp(4), Reads: []string{"ConfigMap"},
		Expect: expect{Writes: []string{"status Lamp desk"}, Events: []string{"Ready"}, Status: times(2)},
		Then: []step{
			{Name: "it is read", Do: appears("one", "desk"), Expect: expect{Status: times(3)}},
			{Name: "it is not read", Do: appears("two", "ceiling"), Expect: expect{Status: times(3)}},
			{
				Name:   "the light goes out",
				Do:     []operontest.Change{operontest.Edit(lamp(0), func(l *Lamp) { l.Spec.Watts = 0 })},
				Expect: expect{Writes: []string{"status Lamp desk"}, Status: times(5)},
			},
			{Name: "nothing is read any more", Do: appears("three", "desk"), Expect: expect{Status: times(5)}},
		},
	})
}
