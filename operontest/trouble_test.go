package operontest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/operontest"
)

// restarted is a Lamp whose operator is restarted.
var restarted = lampCase{
	Name:   "a restart",
	Object: lamp(4),
	Reads:  []string{"ConfigMap"},
	Expect: created,
	Then: []step{
		{Name: "the operator starts again", Do: []operontest.Change{operontest.Restart()}},
		{
			Name: "a user turns it up when it has started again",
			Do: []operontest.Change{
				operontest.Restart(), operontest.Edit(lamp(0), func(l *Lamp) { l.Spec.Watts = 9 }),
			},
			Expect: expect{Writes: []string{"change ConfigMap desk", "status Lamp desk"}, Events: []string{"Updated"}, Conditions: []string{"Ready=True"}},
		},
	},
}

func TestRestart(t *testing.T) {
	t.Parallel()
	op := operontest.New(lit{}, addLamp)
	op.Run(t, restarted)
	t.Run("on a cluster", func(t *testing.T) {
		t.Parallel()
		env := onCluster(t)
		op.RunOn(t, env.Config, env.Namespace, restarted)
	})
}

// forgetful composes the number of starts.
type forgetful struct{ starts *int }

func (f forgetful) Compose(_ context.Context, l *Lamp, out *operon.Composition) error {
	out.Child(config(l.Name, "starts", fmt.Sprint(*f.starts)))
	return nil
}

func TestAnOperatorThatWritesAfterARestart(t *testing.T) {
	t.Parallel()
	c := lampCase{Object: lamp(4), Expect: created}
	starts := 0
	c.Then = []step{{Do: []operontest.Change{func(context.Context, operontest.Place) error { starts++; return nil }, operontest.Restart()}}}
	fails(t, func(t testing.TB) { operontest.New(forgetful{&starts}, addLamp).RunOne(t, c) },
		"step 1: writes", "+ change ConfigMap desk")
}

// fickle composes something different from the third time on.
type fickle struct{ n *int }

func (f fickle) Compose(_ context.Context, l *Lamp, out *operon.Composition) error {
	*f.n++
	out.Child(config(l.Name, "again", fmt.Sprint(*f.n > 2)))
	return nil
}

func TestACompositionThatChangesByItself(t *testing.T) {
	t.Parallel()
	n := 0
	fails(t, func(t testing.TB) {
		operontest.New(fickle{&n}, addLamp).RunOne(t, lampCase{Object: lamp(4), Expect: created})
	},
		"reconciled again though nothing has changed", "change ConfigMap desk")
}

// A rejected write is reported, retried at growing intervals, and succeeds when it is permitted.
func TestRefuse(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "desk", errors.New("no permission"))
	c := lampCase{
		Object: lamp(4),
		Reads:  []string{"ConfigMap"},
		Expect: created,
		Then: []step{
			{
				Name: "a permission is taken away",
				Do: []operontest.Change{
					operontest.Refuse("change ConfigMap desk", denied),
					operontest.Edit(lamp(0), func(l *Lamp) { l.Spec.Watts = 9 }),
				},
				Expect: expect{
					Writes: []string{"status Lamp desk"}, Events: []string{"PermissionDenied"}, Conditions: []string{"Ready=False PermissionDenied: no permission"},
				},
			},
			{Name: "it stays away for an hour", Wait: time.Hour},
			{
				Name: "it is given back",
				Do:   []operontest.Change{operontest.Refuse("change ConfigMap desk", nil)},
				Wait: 30 * time.Second,
				Expect: expect{
					Writes: []string{"change ConfigMap desk", "status Lamp desk"}, Events: []string{"Updated", "Ready"}, Conditions: []string{"Ready=True"},
				},
			},
		},
	}
	operontest.New(lit{}, addLamp).RunOne(t, c)
	if err := operontest.Refuse("create Pod a", denied)(t.Context(), operontest.Place{}); err == nil {
		t.Error("a real API server is told what to refuse")
	}
}
