package operators

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: the Job has a generated name, so before it is created, the API server itself is asked
// whether there is one, and leader election sees to it that nobody else does the same.
var okBackupElected = Operator{
	Name: "ok-backup-elected", Correct: true, Elects: true,
	About: "creates a Job with a generated name after it has checked the API server for one, with leader election",
	CRDs:  backups, Samples: "config/samples/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-backup-elected", &generatedBackup{m.GetClient(), m.GetAPIReader()}, &api.Backup{}, &batchv1.Job{})
	},
}

// generatedBackup creates a Job with a generated name where there is none, which is only right as long
// as no other instance does.
type generatedBackup struct {
	client.Client
	live client.Reader
}

// Reconcile implements reconcile.ObjectReconciler.
func (r *generatedBackup) Reconcile(ctx context.Context, backup *api.Backup) (ctrl.Result, error) {
	if going(backup) {
		return ctrl.Result{}, nil
	}
	jobs, err := jobsOf(ctx, r, backup)
	if err == nil && len(jobs) == 0 {
		jobs, err = jobsOf(ctx, r.live, backup)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(jobs) > 0 {
		if err := keepJob(ctx, r, backup, &jobs[0]); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, reportBackup(ctx, r, backup, jobs[0].Name, phaseOf(&jobs[0]))
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
