package operators

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: there is no leader election. What a Job has saved is checked by another Job, a set time later. Two
// instances, as there are during each update, get there at the same time, find no check, and both begin one.
var twoAtOnce = Operator{
	Name:  "two-at-once",
	About: "runs without leader election, and creates a Job with a generated name on a schedule",
	Model: "overlapping leaders",
	Class: finding.Overlap, Property: finding.SameState, Also: []finding.Property{finding.Bounded},
	Both:  "each instance creates a Job",
	Needs: []Need{Two}, CRDs: backups, Samples: "config/samples/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &checkedBackup{m.GetClient(), m.GetAPIReader()}
		return run(m, "two-at-once", r, &api.Backup{}, &batchv1.Job{})
	},
}

type checkedBackup struct {
	client.Client
	live client.Reader
}

// settling is how long what was saved is left alone before it is checked.
const settling = 1700 * time.Millisecond

func (r *checkedBackup) Reconcile(ctx context.Context, backup *api.Backup) (ctrl.Result, error) {
	named := namedBackup{r.Client}
	if result, err := named.Reconcile(ctx, backup); err != nil || backup.Status.Phase != succeeded {
		return result, err
	}
	jobs, err := jobsOf(ctx, r.live, backup)
	if err != nil || len(jobs) != 1 {
		return ctrl.Result{}, err // there is a check
	}
	if wait := time.Until(jobs[0].CreationTimestamp.Add(settling)); wait > 0 {
		return ctrl.Result{RequeueAfter: min(wait, 100*time.Millisecond)}, nil
	}
	check, err := newJob(r, backup)
	if err != nil {
		return ctrl.Result{}, err
	}
	check.GenerateName = backup.Name + "-check-"
	return ctrl.Result{}, r.Create(ctx, check)
}
