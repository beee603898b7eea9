package phase_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/phase"
)

// A version steps back when the one that replaces it works, whatever state it is in: nothing else would ever remove it.
func TestReplaced(t *testing.T) {
	t.Parallel()
	facts := phase.Facts{ReplacedBy: "next", ReplacementSucceeded: true, Problem: phase.Problem{Reason: phase.ReasonOwnerConflict}}
	for _, was := range []v1alpha1.Phase{
		v1alpha1.PhaseNone, v1alpha1.PhasePending, v1alpha1.PhaseInstallReady, v1alpha1.PhaseInstalling, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed, v1alpha1.PhaseReplacing,
	} {
		status := &v1alpha1.ClusterServiceVersionStatus{Phase: was}
		if phase.Advance(status, facts, time.Now()); status.Phase != v1alpha1.PhaseDeleting || status.Reason != phase.ReasonReplaced {
			t.Errorf("from %q: %s, %s", was, status.Phase, status.Reason)
		}
	}
}

// A status that has lost its history, such as one that another manager wrote, gets another one.
func TestLostHistory(t *testing.T) {
	t.Parallel()
	facts := phase.Facts{Problem: phase.Problem{Reason: phase.ReasonNoGroup, Message: "new"}}
	status := &v1alpha1.ClusterServiceVersionStatus{Phase: v1alpha1.PhaseFailed, Reason: phase.ReasonNoGroup, Message: "old"}
	if phase.Advance(status, facts, time.Now()); status.Message != "new" || len(status.History) != 1 || status.History[0].Message != "new" {
		t.Errorf("the status is %+v", status)
	}
}

// A version that does not work is not replaced by one that does not either: that waits.
func TestNotReplaced(t *testing.T) {
	t.Parallel()
	status := &v1alpha1.ClusterServiceVersionStatus{Phase: v1alpha1.PhasePending}
	if phase.Advance(status, phase.Facts{ReplacedBy: "next"}, time.Now()); status.Phase != v1alpha1.PhasePending {
		t.Errorf("the phase is %s", status.Phase)
	}
}

// A version that has worked is replaced although it lacks something now: the definitions of the next version may be the reason. One that has
// never worked waits.
func TestReplacedWhileItLacksSomething(t *testing.T) {
	t.Parallel()
	status := &v1alpha1.ClusterServiceVersionStatus{}
	if phase.Advance(status, phase.Facts{ReplacedBy: "next"}, time.Now()); status.Phase != v1alpha1.PhasePending {
		t.Errorf("the phase of a new version is %s", status.Phase)
	}
	if phase.Advance(status, phase.Facts{RequirementsMet: true}, time.Now()); status.Phase != v1alpha1.PhaseSucceeded {
		t.Errorf("the phase is %s", status.Phase)
	}
	if phase.Advance(status, phase.Facts{}, time.Now()); status.Phase != v1alpha1.PhasePending {
		t.Errorf("the phase without requirements is %s", status.Phase)
	}
	if phase.Advance(status, phase.Facts{ReplacedBy: "next"}, time.Now()); status.Phase != v1alpha1.PhaseReplacing {
		t.Errorf("the phase of a version that has worked is %s, %s", status.Phase, status.Reason)
	}
}

// A version that does not become available is given up for the one before: when its installation has timed out, or when it has waited for too
// long for something else. It goes when that version works.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second) // as statuses have it
	waits := phase.Facts{RequirementsMet: true, Unavailable: "no pod", RollBack: "before", Began: now}
	missing := phase.Facts{RollBack: "before", Began: now}
	refused := phase.Facts{RequirementsMet: true, Unapplied: phase.Problem{Reason: phase.ReasonComponentFailed, Message: "refused"}, RollBack: "before", Began: now}
	alone := phase.Facts{RequirementsMet: true, Unavailable: "no pod"}
	for name, c := range map[string]struct {
		facts phase.Facts
		want  v1alpha1.Phase
		cause string
	}{
		"no pod":            {waits, v1alpha1.PhaseReplacing, "rolled back to before: install timeout after 5m0s: no pod"},
		"no requirements":   {missing, v1alpha1.PhaseReplacing, "rolled back to before: one or more requirements couldn't be found"},
		"refused":           {refused, v1alpha1.PhaseReplacing, "rolled back to before: refused"},
		"no version before": {alone, v1alpha1.PhaseFailed, "install timeout after 5m0s: no pod"},
	} {
		status := &v1alpha1.ClusterServiceVersionStatus{}
		if again := phase.Advance(status, c.facts, now); status.Reason == phase.ReasonRolledBack || again != phase.Limit {
			t.Errorf("%s: at first, the reason is %s, again in %s", name, status.Reason, again)
		}
		if phase.Advance(status, c.facts, now.Add(phase.Limit)); status.Phase != c.want || status.Message != c.cause {
			t.Errorf("%s: %s, %q", name, status.Phase, status.Message)
		}
		if c.want != v1alpha1.PhaseReplacing {
			continue
		}
		if phase.Advance(status, phase.Facts{ReplacedBy: "before", ReplacementSucceeded: true}, now); status.Phase != v1alpha1.PhaseDeleting || status.Message != c.cause {
			t.Errorf("%s: %s, %q", name, status.Phase, status.Message)
		}
	}
}

// Time in which no manager ran does not count: nothing was installed then.
func TestOutageOfTheManager(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, facts := range map[string]phase.Facts{
		"installs": {RequirementsMet: true, Unavailable: "no pod", RollBack: "before", Began: now}, "waits": {RollBack: "before", Began: now},
	} {
		status := &v1alpha1.ClusterServiceVersionStatus{}
		phase.Advance(status, facts, now)
		facts.Started = now.Add(time.Hour)
		if again := phase.Advance(status, facts, facts.Started); status.Reason == phase.ReasonRolledBack || again != phase.Limit {
			t.Errorf("%s: when the manager starts, the reason is %s, again in %s", name, status.Reason, again)
		}
		if phase.Advance(status, facts, facts.Started.Add(phase.Limit)); status.Reason != phase.ReasonRolledBack {
			t.Errorf("%s: later, the reason is %s", name, status.Reason)
		}
	}
}

// Of two versions that name each other, the one that was created last replaces the other. Otherwise the age does not matter: a backup may be
// restored in any order.
func TestReplaces(t *testing.T) {
	t.Parallel()
	version := func(name, replaces string, second int64) *v1alpha1.ClusterServiceVersion {
		return &v1alpha1.ClusterServiceVersion{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(second, 0)}, Spec: v1alpha1.ClusterServiceVersionSpec{Replaces: replaces},
		}
	}
	for text, of := range map[string]struct {
		a, b   *v1alpha1.ClusterServiceVersion
		ab, ba bool
	}{
		"an upgrade":               {version("v2", "v1", 2), version("v1", "", 1), true, false},
		"an upgrade in a backup":   {version("v2", "v1", 1), version("v1", "", 2), true, false},
		"others":                   {version("v2", "v1", 1), version("v0", "", 2), false, false},
		"a downgrade":              {version("v3", "", 1), version("v1", "v3", 2), false, true},
		"after a downgrade":        {version("v3", "v1", 2), version("v1", "v3", 1), true, false},
		"another downgrade":        {version("v3", "v1", 1), version("v1", "v3", 2), false, true},
		"in the same second":       {version("v3", "v1", 1), version("v1", "v3", 1), true, false},
		"one that replaces itself": {version("v1", "v1", 1), version("v1", "v1", 1), false, false},
	} {
		if ab, ba := phase.Replaces(of.a, of.b), phase.Replaces(of.b, of.a); ab != of.ab || ba != of.ba {
			t.Errorf("%s: %v and %v, want %v and %v", text, ab, ba, of.ab, of.ba)
		}
	}
}
