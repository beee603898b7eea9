package installplan

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/runtime/author"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/olm/internal/catalogs"
)

// A manager that has just started has not read any catalog. It leaves the status of a plan that another manager has begun as it is.
func TestRestartLeavesTheStatus(t *testing.T) {
	t.Parallel()
	now := time.Now()
	begun := v1alpha1.InstallPlanStatus{Phase: v1alpha1.PlanInstalling, Message: "waits for something", Report: v1alpha1.Report{
		Conditions: []metav1.Condition{{Type: condition.Ready, Status: metav1.ConditionFalse, Reason: "WaitingForCSV", Message: "waits for something"}},
	}}
	for name, test := range map[string]struct {
		status v1alpha1.InstallPlanStatus
		runs   time.Duration // since the start of the manager
		reason string
		waits  v1alpha1.InstallPlanPhase
	}{
		"begun":   {begun, time.Second, "WaitingForCSV", ""},
		"new":     {v1alpha1.InstallPlanStatus{}, time.Second, ReasonBundleUnreadable, v1alpha1.PlanPlanning},
		"missing": {begun, time.Hour, ReasonBundleUnreadable, v1alpha1.PlanPlanning},
	} {
		c := &Composer{Clock: testclock.NewFakePassiveClock(now), Catalogs: &catalogs.Catalogs{}, Global: "olm", started: now.Add(-test.runs)}
		of := &v1alpha1.InstallPlan{Spec: v1alpha1.InstallPlanSpec{ClusterServiceVersionNames: []string{"shop.v1"}, Approved: true}, Status: test.status}
		of.Namespace, of.Name, of.UID = "shops", "install-1", "one"
		of.Annotations = map[string]string{AnnotationBundles: "shop.v1=olm/shops"}
		roles, ok := author.RolesIn(operon.Manage(c))[0].(author.Roles[*v1alpha1.InstallPlan])
		if !ok {
			t.Fatal("the composer does not manage InstallPlans")
		}
		out := author.NewComposition(of, nil)
		if err := roles.Compose(t.Context(), of, out); err != nil {
			t.Fatal(err)
		}
		composed := author.Declared(out)
		if len(composed.Outcomes) != 1 || composed.Outcomes[0].Reason() != test.reason || !composed.Incomplete {
			t.Errorf("%s: composed is %+v", name, composed)
		}
		if p := c.passes.Begin(of, c.passes.End(of)); p.waits != test.waits || p.stays != (test.waits == "") {
			t.Errorf("%s: the pass is %+v", name, p)
		}
		if test.waits != "" {
			continue
		}
		if err := c.Observe(t.Context(), of, nil); err != nil { // it must not look at what is applied
			t.Fatal(err)
		}
		if !reflect.DeepEqual(of.Status, test.status) {
			t.Errorf("%s: the status is %+v", name, of.Status)
		}
	}
}
