package extension

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/olm/resolve"
)

// What takes longer than its deadline is reported, until it has succeeded or the ClusterExtension changes. Without a deadline, it may take forever.
func TestProgressDeadline(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		deadline int32
		before   string
		observed int64
		after    time.Duration
		want     string
		left     time.Duration
	}{
		"just begun":      {10, "", 0, time.Hour, v1.ReasonRollingOut, 10 * time.Minute},
		"after a success": {10, v1.ReasonSucceeded, 2, time.Hour, v1.ReasonRollingOut, 10 * time.Minute},
		"in time":         {10, v1.ReasonRetrying, 2, 9 * time.Minute, v1.ReasonRollingOut, time.Minute},
		"too late":        {10, v1.ReasonRollingOut, 2, 10 * time.Minute, v1.ReasonProgressDeadlineExceeded, 0},
		"still too late":  {10, v1.ReasonProgressDeadlineExceeded, 2, time.Second, v1.ReasonProgressDeadlineExceeded, 0},
		"another spec":    {10, v1.ReasonProgressDeadlineExceeded, 1, time.Hour, v1.ReasonRollingOut, 10 * time.Minute},
		"no deadline":     {0, v1.ReasonRollingOut, 2, time.Hour, v1.ReasonRollingOut, 0},
	} {
		now := start.Add(test.after)
		c, of := &Composer{Clock: clocktesting.NewFakePassiveClock(now)}, &v1.ClusterExtension{Spec: v1.ClusterExtensionSpec{ProgressDeadlineMinutes: test.deadline}}
		of.Generation = 2
		if test.before != "" {
			of.Status.States = []metav1.Condition{{
				Type: v1.Progressing, Status: metav1.ConditionTrue, Reason: test.before, ObservedGeneration: test.observed, LastTransitionTime: metav1.NewTime(start),
			}}
		}
		left := c.progressing(of, &pass{reason: v1.ReasonRollingOut})
		got := meta.FindStatusCondition(of.Status.States, v1.Progressing)
		if got.Reason != test.want || left != test.left {
			t.Errorf("%s: the reason is %s, want %s; left are %s, want %s", name, got.Reason, test.want, left, test.left)
		}
		if begins := test.left == 10*time.Minute; begins != got.LastTransitionTime.Time.Equal(now) && test.want == v1.ReasonRollingOut {
			t.Errorf("%s: the time of the transition is %s", name, got.LastTransitionTime)
		}
	}
}

// A version needs its InstallPlan until all objects are written and all permissions are granted.
func TestNeedsPlan(t *testing.T) {
	t.Parallel()
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "till.v1.0.0"}}
	for name, test := range map[string]struct {
		phase   v1alpha1.InstallPlanPhase
		granted string
		want    bool
	}{
		"complete":                         {v1alpha1.PlanComplete, "new", false},
		"with the permissions before":      {v1alpha1.PlanComplete, "old", true},
		"with permissions, but no objects": {v1alpha1.PlanInstalling, "new", true},
	} {
		csv.Status.PermissionsDigest = test.granted
		if got := needs(csv, &v1alpha1.InstallPlan{Status: v1alpha1.InstallPlanStatus{
			Phase: test.phase, BundleLookups: []v1alpha1.BundleLookup{{Identifier: csv.Name, PermissionsDigest: "new"}},
		}}); got != test.want {
			t.Errorf("%s: the plan is needed: %v", name, got)
		}
	}
	csv.Annotations = map[string]string{contents.AnnotationProperties: `{"properties":[{"type":"olm.package","value":{"packageName":"till"}}]}`}
	csv.Labels = map[string]string{render.ComponentLabel("till", ""): ""}
	csv.Spec.CustomResourceDefinitions.Owned = []v1alpha1.CRDDescription{{Name: "tills.example.com"}}
	bundled, err := render.FormerDigest(csv)
	if err != nil {
		t.Fatal(err)
	}
	csv.Labels["operators.coreos.com/other"] = ""
	former, err := render.FormerDigest(csv)
	if err != nil || former == bundled {
		t.Fatal(former, err)
	}
	if csv.Status.PermissionsDigest, err = render.PermissionsDigest(csv); err != nil || csv.Status.PermissionsDigest == former {
		t.Fatal(former, err)
	}
	for planned, want := range map[string]bool{former: true, bundled: true, "old": false} {
		if got := granted(csv, planned); got != want {
			t.Errorf("%s is granted: %v", planned, got)
		}
	}
}

// A catalog advises against the package and its channels even if it offers no version.
func TestDeprecations(t *testing.T) {
	t.Parallel()
	c := &Composer{Clock: clocktesting.NewFakePassiveClock(time.Now())}
	old := &offer{of: &resolve.Package{Deprecations: []resolve.Deprecation{
		{Schema: schemaPackage, Message: "use queue"}, {Schema: schemaChannel, Name: "stable", Message: "use fast"}, {Schema: schemaBundle, Name: "till.v1.0.0", Message: "1.0.0 is old"},
	}}}
	works := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "till.v1.0.0"}}
	for name, test := range map[string]struct {
		from      *offer
		installed *v1alpha1.ClusterServiceVersion
		channels  []string
		want      string
	}{
		"no catalog":              {nil, nil, nil, "Unknown DeprecationStatusUnknown, Unknown DeprecationStatusUnknown, Unknown DeprecationStatusUnknown, Unknown Absent"},
		"no catalog any more":     {nil, works, nil, "Unknown DeprecationStatusUnknown, Unknown DeprecationStatusUnknown, Unknown DeprecationStatusUnknown, Unknown DeprecationStatusUnknown"},
		"nothing deprecated":      {&offer{of: &resolve.Package{}}, works, nil, "False NotDeprecated, False NotDeprecated, False NotDeprecated, False NotDeprecated"},
		"nothing installed":       {old, nil, nil, "True Deprecated use queue, True Deprecated use queue, False NotDeprecated, Unknown Absent"},
		"a channel and a version": {old, works, []string{"stable"}, "True Deprecated use queue; use fast; 1.0.0 is old, True Deprecated use queue, True Deprecated use fast, True Deprecated 1.0.0 is old"},
	} {
		of := &v1.ClusterExtension{Spec: v1.ClusterExtensionSpec{Source: v1.Source{Catalog: &v1.CatalogFilter{Channels: test.channels}}}}
		c.deprecations(of, &pass{from: test.from, versions: versions{installed: test.installed}})
		var got []string
		for _, kind := range []string{v1.Deprecated, v1.PackageDeprecated, v1.ChannelDeprecated, v1.BundleDeprecated} {
			is := meta.FindStatusCondition(of.Status.States, kind)
			text := string(is.Status) + " " + is.Reason
			if is.Status == metav1.ConditionTrue {
				text += " " + is.Message
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s: got %s, want %s", name, text, test.want)
		}
	}
}
