package operontest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/operontest"
)

type (
	lampCase = operontest.Case[*Lamp]
	step     = operontest.Step[*Lamp]
	expect   = operontest.Expect[*Lamp]
)

// button returns a ConfigMap that lit treats as a switch of a Lamp.
func button(name, of string) *corev1.ConfigMap {
	c := config(name, "is", "off")
	c.Labels = map[string]string{"switch": of}
	return c
}

// hasSwitches returns a check that the status of a Lamp lists its switches.
func hasSwitches(names ...string) func(*Lamp) error {
	return func(l *Lamp) error {
		if !slices.Equal(l.Status.Switches, names) {
			return fmt.Errorf("the switches are %q, want %q", l.Status.Switches, names)
		}
		return nil
	}
}

// created is what is expected for a Lamp that lit composes.
var created = expect{
	Writes:     []string{"create ConfigMap desk", "status Lamp desk"},
	Events:     []string{"Created: ConfigMap desk", "Ready"},
	Conditions: []string{"Ready=True"},
}

// aLamp is the life cycle of a Lamp.
var aLamp = lampCase{
	Name:   "a lamp",
	Given:  []ctrlclient.Object{button("left", "desk"), button("other", "ceiling")},
	Object: lamp(4),
	Reads:  []string{"ConfigMap switch=desk"},
	Expect: expect{
		Writes:     created.Writes,
		Events:     created.Events,
		Conditions: []string{"Ready=True Ready: all resources are up to date and ready"},
		Status:     hasSwitches("left"),
	},
	Then: []step{{
		Name: "somebody turns it down",
		Do: []operontest.Change{operontest.Edit(config("desk", "", ""), func(c *corev1.ConfigMap) {
			c.Data["watts"] = "1"
		})},
		Expect: expect{
			Writes: []string{"change ConfigMap desk"},
			Events: []string{"Repaired: reverted drift in ConfigMap desk: data.watts (changed by somebody)"},
		},
	}, {
		Name:   "a user turns it up",
		Do:     []operontest.Change{operontest.Edit(lamp(0), func(l *Lamp) { l.Spec.Watts = 9 })},
		Expect: expect{Writes: []string{"change ConfigMap desk", "status Lamp desk"}, Events: []string{"Updated"}},
	}, {
		Name:   "a second switch",
		Do:     []operontest.Change{operontest.Create(button("right", "desk"))},
		Expect: expect{Writes: []string{"status Lamp desk"}, Status: hasSwitches("left", "right")},
	}, {
		Name: "a switch of another lamp",
		Do:   []operontest.Change{operontest.Create(button("third", "ceiling"))},
	}, {
		Name:   "the child is lost",
		Do:     []operontest.Change{operontest.Delete(config("desk", "", ""))},
		Expect: expect{Writes: []string{"create ConfigMap desk"}, Events: []string{"Recreated: was deleted"}},
	}, {
		Name: "an hour passes",
		Wait: time.Hour,
	}, {
		Name: "the lamp goes",
		Do:   []operontest.Change{operontest.Delete(lamp(0))},
	}},
}

func TestCase(t *testing.T) {
	t.Parallel()
	operontest.New(lit{}, addLamp).Run(t, aLamp)
}

func BenchmarkCase(b *testing.B) {
	op := operontest.New(lit{}, addLamp)
	for b.Loop() {
		op.RunOne(b, lampCase{Object: lamp(4), Reads: []string{"ConfigMap"}, Expect: created})
	}
}
