package operators

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: there is no leader election. A Backup begins when it has settled, a moment after it was made. Two
// instances, as there are during each update, get there at the same time, find no Job, and both create one.
var twoAtOnce = Operator{
	Name:  "two-at-once",
	About: "runs without leader election, and creates a Job with a generated name at a set time",
	Model: "leader overlap",
	Class: finding.Overlap, Property: finding.SameState, Also: []finding.Property{finding.Bounded},
	Needs: []Need{Two}, CRDs: backups, Samples: "config/samples/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &settledBackup{generatedBackup{m.GetClient(), m.GetAPIReader()}}
		return run(m, "two-at-once", r, &api.Backup{}, &batchv1.Job{})
	},
}

type settledBackup struct{ generatedBackup }

// settling is how long a Backup is left alone, in case that its author thinks again.
const settling = 1500 * time.Millisecond

func (r *settledBackup) Reconcile(ctx context.Context, backup *api.Backup) (ctrl.Result, error) {
	wait := time.Until(backup.CreationTimestamp.Add(settling))
	if wait <= 0 || going(backup) {
		return r.generatedBackup.Reconcile(ctx, backup)
	}
	if err := reportBackup(ctx, r, backup, "", pending); err != nil {
		return ctrl.Result{}, err
	}
	// Somebody else may have begun it by hand.
	if _, err := jobsOf(ctx, r.live, backup); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: min(wait, 100*time.Millisecond)}, nil
}
