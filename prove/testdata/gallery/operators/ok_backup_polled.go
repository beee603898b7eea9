package operators

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: it does not watch Jobs. Each second, it reads its Job from the API server, so it never becomes silent.
var okBackupPolled = Operator{
	Name: "ok-backup-polled", Correct: true,
	About: "creates a Job with the name of the Backup, and reads it every second instead of watching it",
	CRDs:  backups, Samples: "config/samples/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-backup-polled", &polledBackup{m.GetClient(), m.GetAPIReader()}, &api.Backup{})
	},
}

type polledBackup struct {
	client.Client
	live client.Reader
}

func (r *polledBackup) Reconcile(ctx context.Context, backup *api.Backup) (ctrl.Result, error) {
	if going(backup) {
		return ctrl.Result{}, nil
	}
	job, err := newJob(r, backup)
	if err != nil {
		return ctrl.Result{}, err
	}
	job.Name = backup.Name
	found := &batchv1.Job{}
	switch err := r.live.Get(ctx, client.ObjectKeyFromObject(job), found); {
	case apierrors.IsNotFound(err):
		if err := r.Create(ctx, job); err != nil {
			return ctrl.Result{}, err
		}
		found = job
	case err != nil:
		return ctrl.Result{}, err
	case !metav1.IsControlledBy(found, backup):
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if err := keepJob(ctx, r, backup, found); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: time.Second}, reportBackup(ctx, r, backup, found.Name, phaseOf(found))
}
