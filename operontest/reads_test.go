package operontest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/operontest"
)

// looking reads the ConfigMaps with a label while the lamp is on, and counts its calls.
type looking struct{ asked *int }

func (looking) Compose(context.Context, *Lamp, *operon.Composition) error { return nil }

func (c looking) Observe(ctx context.Context, l *Lamp, seen *operon.Observed) error {
	*c.asked++
	if l.Spec.Watts == 0 {
		return nil
	}
	return seen.List(ctx, &corev1.ConfigMapList{}, client.MatchingLabels{"switch": l.Name})
}

// The object is reconciled only for what its last reconcile read, except that each step ends with one additional reconcile.
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
		Expect: expect{Writes: []string{"status Lamp desk"}, Events: []string{"Ready"}, Status: times(3)},
		Then: []step{
			{Name: "it is read", Do: appears("one", "desk"), Expect: expect{Status: times(5)}},
			{Name: "it is not read", Do: appears("two", "ceiling"), Expect: expect{Status: times(6)}},
			{
				Name:   "the light goes out",
				Do:     []operontest.Change{operontest.Edit(lamp(0), func(l *Lamp) { l.Spec.Watts = 0 })},
				Expect: expect{Writes: []string{"status Lamp desk"}, Status: times(9)},
			},
			{Name: "nothing is read any more", Do: appears("three", "desk"), Expect: expect{Status: times(10)}},
		},
	})
}

// copying composes a ConfigMap with the color in another ConfigMap and in a StorageClass, and with the number of switches.
type copying struct{}

func (copying) Compose(ctx context.Context, l *Lamp, out *operon.Composition) error {
	paint := config("paint", "colour", "none")
	if _, err := out.Get(ctx, paint); err != nil {
		return err
	}
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}
	found, err := out.Get(ctx, class)
	if err != nil {
		return err
	}
	var switches corev1.ConfigMapList
	if err := out.List(ctx, &switches, client.MatchingLabels{"switch": l.Name}); err != nil {
		return err
	}
	if len(paint.ManagedFields) > 0 || len(class.ManagedFields) > 0 || len(switches.Items) > 0 && len(switches.Items[0].ManagedFields) > 0 {
		return errors.New("watches hold no managedFields")
	}
	child := config(l.Name, "colour", paint.Data["colour"])
	child.Data["class"], child.Data["switches"] = fmt.Sprint(found), fmt.Sprint(len(switches.Items))
	out.Child(child)
	return nil
}

// Compose reads given objects by name or labels, and the object is reconciled when one of them is created, changed or
// deleted.
var aCopy = lampCase{
	Name:   "a copy",
	Object: lamp(4),
	Reads:  []string{"ConfigMap paint", "StorageClass fast", "ConfigMap switch=desk"},
	Expect: expect{
		Writes: []string{"create ConfigMap desk", "status Lamp desk"},
		Events: []string{"Created: ConfigMap desk", "Ready"},
	},
	Then: []step{
		{Name: "paint appears", Do: []operontest.Change{operontest.Create(config("paint", "colour", "red"))}, Expect: updated},
		{Name: "paint changes", Do: []operontest.Change{operontest.Edit(config("paint", "", ""), func(c *corev1.ConfigMap) {
			c.Data["colour"] = "blue"
		})}, Expect: updated},
		{Name: "paint goes", Do: []operontest.Change{operontest.Delete(config("paint", "", ""))}, Expect: updated},
		{Name: "a switch appears", Do: []operontest.Change{operontest.Create(button("left", "desk"))}, Expect: updated},
		{Name: "something else appears", Do: []operontest.Change{operontest.Create(config("glue", "a", "b"))}},
	},
}

var updated = expect{Writes: []string{"change ConfigMap desk"}, Events: []string{"Updated"}}

func TestReadsOfACompose(t *testing.T) {
	t.Parallel()
	op := operontest.New(copying{}, addLamp)
	op.Run(t, aCopy)
	t.Run("on a cluster", func(t *testing.T) {
		t.Parallel()
		env := onCluster(t)
		op.RunOn(t, env.Config, env.Namespace, aCopy)
	})
	fast := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "none"}
	got, err := op.Children(t.Context(), lamp(4), config("paint", "colour", "green"), fast, button("left", "desk"), button("right", "desk"))
	want := "apiVersion: v1\ndata:\n  class: \"true\"\n  colour: green\n  switches: \"2\"\nkind: ConfigMap\nmetadata:\n  name: desk\n"
	if err != nil || got != want {
		t.Errorf("composed is %s (%v), want %s", got, err, want)
	}
}
