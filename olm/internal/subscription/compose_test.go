package subscription

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/olm/resolve"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/watches"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// empty are the reads of a cache that has no objects yet.
type empty struct{}

func (empty) Children(context.Context, resourceclient.Children, types.UID, ...string) ([]*plan.Live, error) {
	return nil, nil
}
func (empty) List(context.Context, client.ObjectList, watches.Selection) error { return nil }
func (empty) Get(context.Context, client.Object) (bool, error)                 { return false, nil }
func (empty) End()                                                             {}

// A Subscription that is newer than the list of Subscriptions waits, without an error that an event would report.
func TestOlderList(t *testing.T) {
	t.Parallel()
	c := &Composer{Clock: testclock.NewFakePassiveClock(time.Now()), Catalogs: &catalogs.Catalogs{}, Global: "olm"}
	roles, ok := author.RolesIn(operon.Manage(c))[0].(author.Roles[*v1alpha1.Subscription])
	if !ok {
		t.Fatal("the composer does not manage Subscriptions")
	}
	sub := &v1alpha1.Subscription{}
	sub.Namespace, sub.Name, sub.UID = "shops", "shop", "one"
	out := author.NewComposition(sub, empty{})
	if err := roles.Compose(t.Context(), sub, out); err != nil {
		t.Fatal(err)
	}
	composed := author.Declared(out)
	if len(composed.Outcomes) != 1 || composed.Outcomes[0].Kind() != outcome.KindWait || composed.Outcomes[0].Reason() != reasonUnknown || composed.Again != time.Second || !composed.Incomplete {
		t.Errorf("composed is %+v", composed)
	}
}

// The next version, with its dependencies, waits for a plan of the installed one that is being carried out.
func TestInOrder(t *testing.T) {
	t.Parallel()
	sub := &v1alpha1.Subscription{}
	sub.UID = "one"
	one := v1alpha1.InstallPlan{}
	one.Labels = map[string]string{plan.OwnerLabel: "one"}
	one.Spec.ClusterServiceVersionNames = []string{"shop.v1"}
	n := &namespace{plans: []v1alpha1.InstallPlan{one}}
	for phase, writes := range map[v1alpha1.InstallPlanPhase]bool{
		"": true, v1alpha1.PlanRequiresApproval: true, v1alpha1.PlanInstalling: true,
		v1alpha1.PlanPlanning: false, v1alpha1.PlanFailed: false, v1alpha1.PlanComplete: false,
	} {
		n.plans[0].Status.Phase = phase
		for _, test := range []struct {
			approved  bool
			installed string
			action    resolve.Action
			waits     bool
		}{
			{true, "shop.v1", resolve.Upgrade, writes},
			{false, "shop.v1", resolve.Upgrade, false},
			{true, "shop.v0", resolve.Upgrade, false},
			{true, "", resolve.Install, false},
			{true, "shop.v1", resolve.Blocked, false},
		} {
			n.plans[0].Spec.Approved = test.approved
			outcome := resolve.Outcome{Action: test.action, Installed: test.installed, Bundle: resolve.Choice{Name: "shop.v2"}}
			got := n.inOrder(sub, outcome)
			if waits := got.Action == resolve.Keep && got.Bundle.Name == ""; waits != test.waits || !waits && got.Action != test.action {
				t.Errorf("in the phase %q, %+v: the outcome is %+v", phase, test, got)
			}
		}
	}
}

// The result of a resolution is kept as long as it is used.
func TestResultsAreForgotten(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now())
	c := &Composer{Clock: clock}
	for _, name := range []string{"shops", "used", "used", "used", "banks"} {
		if _, err := c.resolve(&namespace{problem: resolve.Problem{Namespace: name}}); err != nil {
			t.Fatal(err)
		}
		clock.Step(timing.keepResults / 2)
	}
	if names := slices.Sorted(maps.Keys(c.results)); !slices.Equal(names, []string{"banks", "used"}) {
		t.Errorf("the results of %v are kept", names)
	}
}

// A namespace is resolved again when the priority of a catalog changes, or why it cannot be used.
func TestCatalogsOfAResult(t *testing.T) {
	t.Parallel()
	c, known := &Composer{Clock: testclock.NewFakeClock(time.Now())}, map[string]bool{}
	for _, test := range []struct {
		priority int
		message  string
	}{{0, "down"}, {1, "down"}, {1, "unauthorized"}} {
		one := &v1alpha1.CatalogSource{}
		one.Spec.Priority = test.priority
		one.Status.Message, one.Status.ConnectionState = test.message, &v1alpha1.ConnectionState{LastObservedState: v1alpha1.StateTransientFailure}
		n := &namespace{}
		n.add(one, nil)
		if _, err := c.resolve(n); err != nil {
			t.Fatal(err)
		}
		known[c.results[""].digest] = true
	}
	if len(known) != 3 {
		t.Errorf("there are %d results, want 3", len(known))
	}
}
