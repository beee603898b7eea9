package operators

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the name of the Job is kept in the status alone. An operator that ends, or loses the
// answer, after the Job was created and before the status was written, creates another.
var generatedTwice = Operator{
	Name:  "generated-twice",
	About: "creates a Job with a generated name whenever its status does not name one",
	Model: "Sieve, intermediate state: a non-idempotent create with a generated name",
	Class: finding.Intermediate, Property: finding.SameState, Also: []finding.Property{finding.Bounded, finding.SameFresh},
	Both:  "each interruption leaves one more Job",
	Needs: []Need{Kill}, CRDs: backups, Samples: "config/samples/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "generated-twice", &recordedBackup{m.GetClient(), m.GetAPIReader()}, &api.Backup{}, &batchv1.Job{})
	},
}

type recordedBackup struct {
	client.Client
	live client.Reader
}

func (r *recordedBackup) Reconcile(ctx context.Context, backup *api.Backup) (ctrl.Result, error) {
	if going(backup) {
		return ctrl.Result{}, nil
	}
	// The cache may not show yet what was noted last.
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(backup), backup); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if backup.Status.Job != "" {
		return ctrl.Result{}, followJob(ctx, r, backup)
	}
	job, err := newJob(r, backup)
	if err != nil {
		return ctrl.Result{}, err
	}
	job.GenerateName = backup.Name + "-"
	if err := r.Create(ctx, job); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportBackup(ctx, r, backup, job.Name, pending)
}
