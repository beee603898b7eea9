package operontest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
	"github.com/operon-framework/operon/operontest"
)

func onCluster(t *testing.T) *localtest.Env {
	t.Helper()
	env := localtest.Shared(t)
	env.InstallCRDs(t, "testdata/lamps.yaml")
	return env
}

// The case that also runs without a cluster, unchanged.
func TestCaseOnACluster(t *testing.T) {
	t.Parallel()
	env := onCluster(t)
	operontest.New(lit{}, addLamp).RunOn(t, env.Config, env.Namespace, aLamp)
}

// finalized is a lamp whose Deployment comes after a ConfigMap, so that it gets a finalizer and its children are deleted in
// order.
var finalized = lampCase{
	Name:   "a finalizer",
	Object: lamp(1),
	Expect: expect{
		Writes: []string{
			"change Lamp desk", "create ConfigMap desk-base", "create Secret desk", "status Lamp desk",
			"create Deployment desk", "status Lamp desk",
		},
		Events:     []string{"Created: ConfigMap desk-base, Secret desk", "Created: Deployment desk"},
		Conditions: []string{"Ready=False ChildNotReady: Deployment desk"},
	},
	Then: []step{{
		Name: "the lamp goes",
		Do:   []operontest.Change{operontest.Delete(lamp(0))},
		Expect: expect{
			Writes: []string{"change ConfigMap desk-base", "delete Deployment desk", "status Lamp desk", "change Lamp desk"},
			Events: []string{"Pruned", "Released"},
		},
	}},
}

func TestAFinalizer(t *testing.T) {
	t.Parallel()
	op := operontest.New(compose(everything), addLamp)
	op.Run(t, finalized)
	t.Run("on a cluster", func(t *testing.T) {
		t.Parallel()
		env := onCluster(t)
		op.RunOn(t, env.Config, env.Namespace, finalized)
	})
}

// spying also reads Secrets.
type spying struct{ lit }

func (s spying) Observe(ctx context.Context, l *Lamp, seen *operon.Observed) error {
	if err := seen.List(ctx, &corev1.SecretList{}, map[string]string{"lamp": l.Name}); err != nil {
		return err
	}
	return s.lit.Observe(ctx, l, seen)
}

func TestCaseFailsOnACluster(t *testing.T) {
	t.Parallel()
	simple := lampCase{Object: lamp(4), Reads: []string{"ConfigMap"}, Expect: created}
	for _, test := range []struct {
		name, says string
		operon.Composer[*Lamp]
		spoil func(*lampCase)
	}{
		{"an unexpected write", `write that was not expected: "create ConfigMap desk"`, lit{},
			func(c *lampCase) { c.Expect.Writes = []string{"status Lamp desk"} }},
		{"a missing write", `missing write "create Service desk"`, lit{},
			func(c *lampCase) { c.Expect.Writes = append(created.Writes[:2:2], "create Service desk") }},
		{"an unexpected event", `event that was not expected: "Created: created ConfigMap desk"`, lit{},
			func(c *lampCase) { c.Expect.Events = []string{"Ready"} }},
		{"a missing event", `missing event "Pruned"`, lit{},
			func(c *lampCase) { c.Expect.Events = append(created.Events[:2:2], "Pruned") }},
		{"another condition", `no condition "Ready=Unknown"; there are "Ready=True Ready`, lit{},
			func(c *lampCase) { c.Expect.Conditions = []string{"Ready=Unknown"} }},
		{"another status", `the status: the switches are [], want ["left"]`, lit{},
			func(c *lampCase) { c.Expect.Status = hasSwitches("left") }},
		{"an unexpected read", `read of kind that was not expected: "Secret"`, spying{}, func(*lampCase) {}},
		{"a missing read", `missing read of kind "Secret"`, lit{},
			func(c *lampCase) { c.Reads = append(c.Reads, "Secret app=lamp") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := simple
			test.spoil(&c)
			// An unexpected event may arrive after the end of the case, and on a busy machine the rest may take longer.
			for patience := 10 * time.Second; ; patience *= 2 {
				env := onCluster(t) // garbage collection may delay the children of the previous case
				op := operontest.New(test.Composer, addLamp).Patience(patience)
				said := failuresOf(t, func(t testing.TB) { op.RunOn(t, env.Config, env.Namespace, c) })
				if strings.Contains(said, test.says) {
					return
				}
				if patience > 2*time.Minute {
					t.Fatalf("the test does not say %q, but:\n%s", test.says, said)
				}
			}
		})
	}
}
