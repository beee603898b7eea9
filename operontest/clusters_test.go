package operontest_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/operontest"
)

// importing composes a ConfigMap with data from another cluster.
type importing struct{}

func (importing) Compose(ctx context.Context, l *Lamp, out *operon.Composition) error {
	paint := config("paint", "colour", "none")
	if _, err := out.In("east").Get(ctx, paint); err != nil {
		return err
	}
	out.Child(config(l.Name, "colour", paint.Data["colour"]))
	return nil
}

// elsewhere returns a case in which the color of a Lamp is in another cluster.
func elsewhere() lampCase {
	return lampCase{
		Clusters: map[string][]client.Object{"east": {config("paint", "colour", "red")}},
		Object:   lamp(4),
		Reads:    []string{"ConfigMap paint in cluster east"},
		Expect:   created,
		Then: []step{{
			Name:   "it changes there",
			Do:     []operontest.Change{operontest.In("east", operontest.Edit(config("paint", "", ""), func(c *corev1.ConfigMap) { c.Data["colour"] = "blue" }))},
			Expect: updated,
		}, {
			Name: "one of the name appears here",
			Do:   []operontest.Change{operontest.Create(config("paint", "colour", "green"))},
		}},
	}
}

func TestAnotherCluster(t *testing.T) {
	t.Parallel()
	op := operontest.New(importing{}, addLamp)
	op.RunOne(t, elsewhere())
	run := func(spoil func(*lampCase)) func(testing.TB) {
		c := elsewhere()
		spoil(&c)
		return func(t testing.TB) { op.RunOne(t, c) }
	}
	fails(t, run(func(c *lampCase) { c.Reads = nil }), `"ConfigMap paint in cluster east"`)
	fails(t, run(func(c *lampCase) {
		c.Then[0].Do = []operontest.Change{operontest.In("west", operontest.Delete(lamp(1)))}
	}),
		`no cluster "west"`)
	fails(t, run(func(c *lampCase) { c.Clusters = nil }), `the operator has no cluster`)
	fails(t, func(t testing.TB) { op.RunOn(t, nil, "", elsewhere()) }, "runs in memory only")
}
