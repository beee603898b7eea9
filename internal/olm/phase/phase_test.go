package phase_test

import (
	"testing"
	"time"

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

// A version that does not work is not replaced by one that does not either: that waits.
func TestNotReplaced(t *testing.T) {
	t.Parallel()
	status := &v1alpha1.ClusterServiceVersionStatus{Phase: v1alpha1.PhasePending}
	if phase.Advance(status, phase.Facts{ReplacedBy: "next"}, time.Now()); status.Phase != v1alpha1.PhasePending {
		t.Errorf("the phase is %s", status.Phase)
	}
}
