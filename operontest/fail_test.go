package operontest_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/operontest"
)

// Unexpected and missing results fail the case and are named.
func TestCaseFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(*lampCase)
		says  []string
	}{
		{"an unexpected write", func(c *lampCase) { c.Expect.Writes = []string{"status Lamp desk"} },
			[]string{"the object is created: writes", "+ create ConfigMap desk", "  status Lamp desk"}},
		{"an unexpected write in a later step", func(c *lampCase) { c.Then[0].Expect.Writes = nil },
			[]string{"somebody turns it down: writes", "+ change ConfigMap desk"}},
		{"a missing write", func(c *lampCase) { c.Expect.Writes = append(c.Expect.Writes, "create Service desk") },
			[]string{"- create Service desk"}},
		{"writes in another order", func(c *lampCase) { c.Expect.Writes = []string{c.Expect.Writes[1], c.Expect.Writes[0]} },
			[]string{"- status Lamp desk", "+ status Lamp desk"}},
		{"an unexpected event", func(c *lampCase) { c.Expect.Events = []string{"Ready"} },
			[]string{`event that was not expected: "Created: created ConfigMap desk"`}},
		{"an event with another note", func(c *lampCase) { c.Expect.Events = []string{"Ready", "Created: Secret"} },
			[]string{`missing event "Created: Secret"`, "not expected"}},
		{"the same event twice", func(c *lampCase) { c.Expect.Events = append(c.Expect.Events, "Ready") },
			[]string{`missing event "Ready"`}},
		{"an unexpected read", func(c *lampCase) { c.Reads = nil },
			[]string{`read that was not expected: "ConfigMap switch=desk"`}},
		{"a read of other labels", func(c *lampCase) { c.Reads = []string{"ConfigMap switch=ceiling"} },
			[]string{`missing read "ConfigMap switch=ceiling"`, `"ConfigMap switch=desk"`}},
		{"a missing read", func(c *lampCase) { c.Reads = append(c.Reads, "Pod") },
			[]string{`missing read "Pod"`}},
		{"another reason", func(c *lampCase) { c.Expect.Conditions = []string{"Ready=True Done"} },
			[]string{`no condition "Ready=True Done"; there are "Ready=True Ready: all resources`}},
		{"another message", func(c *lampCase) { c.Expect.Conditions = []string{"Ready=True Ready: nothing"} },
			[]string{`no condition "Ready=True Ready: nothing"`}},
		{"another status", func(c *lampCase) { c.Expect.Status = hasSwitches("right") },
			[]string{`the status: the switches are ["left"], want ["right"]`}},
		{"the status of what is gone", func(c *lampCase) { c.Then[6].Expect.Conditions = []string{"Ready=True"} },
			[]string{"the lamp goes: the object is gone"}},
		{"a change of what is not there", func(c *lampCase) { c.Then[0].Do = []operontest.Change{operontest.Delete(config("none", "", ""))} },
			[]string{"somebody turns it down: delete *v1.ConfigMap none", "not found"}},
		{"no object", func(c *lampCase) { c.Object = nil }, []string{"no object: set"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := aLamp
			c.Then = append([]step(nil), aLamp.Then...)
			c.Expect.Writes = append([]string(nil), aLamp.Expect.Writes...)
			c.Expect.Events = append([]string(nil), aLamp.Expect.Events...)
			test.spoil(&c)
			fails(t, func(t testing.TB) { operontest.New(lit{}, addLamp).RunOne(t, c) }, test.says...)
		})
	}
}

// restless composes something different each time.
type restless struct{ n *int }

func (r restless) Compose(_ context.Context, l *Lamp, out *operon.Composition) error {
	*r.n++
	out.Child(config(l.Name, "n", fmt.Sprint(*r.n)))
	return nil
}

func TestACaseComesToRest(t *testing.T) {
	t.Parallel()
	fails(t, func(t testing.TB) {
		operontest.New(restless{new(int)}, addLamp).RunOne(t, lampCase{Object: lamp(1)})
	}, "does not come to rest", "change ConfigMap desk")
}

// greedy lists without labels.
type greedy struct{ lit }

func (greedy) Observe(ctx context.Context, _ *Lamp, seen *operon.Observed) error {
	return seen.List(ctx, &corev1.SecretList{}, nil)
}

func TestListingEverythingIsRefused(t *testing.T) {
	t.Parallel()
	operontest.New(greedy{}, addLamp).RunOne(t, lampCase{Object: lamp(1), Expect: expect{
		Writes:     []string{"create ConfigMap desk", "status Lamp desk"},
		Events:     []string{"Created", "UnboundedRead"},
		Conditions: []string{"Ready=False UnboundedRead: select by labels"},
	}})
}
