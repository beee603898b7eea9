package operontest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/operontest"
)

// The API in memory sets the same fields of an object as an API server.
func TestWhatAnAPIServerSays(t *testing.T) {
	t.Parallel()
	uids := map[string]bool{}
	says := func(object client.Object, generation, age int64) operontest.Change {
		return func(ctx context.Context, p operontest.Place) error {
			if err := p.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: object.GetName()}, object); err != nil {
				return err
			}
			uids[string(object.GetUID())] = true
			made := time.Date(2026, 1, 1, 0, 0, int(age), 0, time.UTC)
			if object.GetGeneration() != generation || !object.GetCreationTimestamp().Time.Equal(made) || object.GetUID() == "" {
				return fmt.Errorf("%T has the UID %q, generation %d and was made at %s; want %d and %s",
					object, object.GetUID(), object.GetGeneration(), object.GetCreationTimestamp(), generation, made)
			}
			return nil
		}
	}
	left := func() *corev1.ConfigMap { return config("left", "", "") }
	operontest.New(lit{}, addLamp).RunOne(t, lampCase{
		Given: []client.Object{button("left", "desk")}, Object: lamp(4), Reads: []string{"ConfigMap"}, Expect: created,
		Then: []step{
			{Do: []operontest.Change{says(lamp(0), 1, 0), says(left(), 1, 0), says(config("desk", "", ""), 1, 0)}},
			{Wait: time.Minute},
			{
				Do: []operontest.Change{
					operontest.Delete(left()), operontest.Create(button("left", "desk")), says(left(), 1, 60),
					operontest.Edit(lamp(0), func(l *Lamp) { l.Labels = map[string]string{"a": "b"} }), says(lamp(0), 1, 0),
					operontest.EditStatus(lamp(0), func(l *Lamp) { l.Status.Switches = nil }), says(lamp(0), 1, 0),
					operontest.Edit(lamp(0), func(l *Lamp) { l.Spec.Watts = 5 }), says(lamp(0), 2, 0),
				},
				Expect: expect{Writes: []string{"change ConfigMap desk", "status Lamp desk"}, Events: []string{"Updated"}},
			},
		},
	})
	if len(uids) != 4 {
		t.Errorf("four objects have the UIDs %v", uids)
	}
}
