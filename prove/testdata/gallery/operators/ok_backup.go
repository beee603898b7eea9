package operators

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: the Job's name follows from the Backup's, so that there cannot be two.
var okBackup = Operator{
	Name: "ok-backup", Correct: true,
	About: "creates a Job with the name of the Backup, and follows its progress",
	CRDs:  backups, Samples: "config/samples/backup.yaml", Role: "config/rbac/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-backup", &namedBackup{m.GetClient()}, &api.Backup{}, &batchv1.Job{})
	},
}

type namedBackup struct{ client.Client }

func (r *namedBackup) Reconcile(ctx context.Context, backup *api.Backup) (ctrl.Result, error) {
	if going(backup) {
		return ctrl.Result{}, nil
	}
	job := &batchv1.Job{}
	err := r.Get(ctx, client.ObjectKeyFromObject(backup), job)
	if apierrors.IsNotFound(err) {
		if job, err = newJob(r, backup); err != nil {
			return ctrl.Result{}, err
		}
		job.Name = backup.Name
		err = r.Create(ctx, job)
	}
	if err != nil {
		return ctrl.Result{}, err // the cache, if it is behind, will not be for long
	}
	if !metav1.IsControlledBy(job, backup) {
		return ctrl.Result{}, fmt.Errorf("the Job %s is there, and not this Backup's", job.Name)
	}
	if err := keepJob(ctx, r, backup, job); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportBackup(ctx, r, backup, job.Name, phaseOf(job))
}
