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
	"github.com/operon-framework/operon/internal/olm/resolve"
)

// An installation that takes longer than its deadline is reported. Without a deadline, it may take forever.
func TestProgressDeadline(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tip := &v1alpha1.ClusterServiceVersion{}
	tip.CreationTimestamp = metav1.NewTime(start)
	for name, test := range map[string]struct {
		deadline  int32
		after     time.Duration
		installed bool
		want      string
		left      time.Duration
	}{
		"in time":     {10, 9 * time.Minute, false, v1.ReasonRollingOut, time.Minute},
		"too late":    {10, 10 * time.Minute, false, v1.ReasonProgressDeadlineExceeded, 0},
		"no deadline": {0, time.Hour, false, v1.ReasonRollingOut, 0},
		"installed":   {10, time.Hour, true, v1.ReasonRollingOut, 0},
	} {
		c := &Composer{Clock: clocktesting.NewFakePassiveClock(start.Add(test.after))}
		of := &v1.ClusterExtension{Spec: v1.ClusterExtensionSpec{ProgressDeadlineMinutes: test.deadline}}
		p := &pass{reason: v1.ReasonRollingOut, versions: versions{tip: tip}}
		if test.installed {
			p.versions.installed = tip
		}
		left := c.progressing(of, p)
		if got := meta.FindStatusCondition(of.Status.States, v1.Progressing); got.Reason != test.want || left != test.left {
			t.Errorf("%s: the reason is %s, want %s; left are %s, want %s", name, got.Reason, test.want, left, test.left)
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
