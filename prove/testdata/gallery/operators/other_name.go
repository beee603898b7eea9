package operators

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: an error is taken to mean that there is no Job, and the next try has another name. After a
// time-out, or a connection that was lost, both Jobs run.
var otherName = Operator{
	Name:  "other-name",
	About: "retries under another name if it does not know whether the Job was created",
	Model: "a timeout treated as a failure",
	Class: finding.Intermediate, Property: finding.SameState, Also: []finding.Property{finding.Bounded},
	Both:  "each timeout leaves one more Job",
	Needs: []Need{Answer}, CRDs: backups, Samples: "config/samples/backup.yaml",
	Setup: func(m ctrl.Manager) error {
		r := &countingBackup{m.GetClient(), map[types.UID]int{}}
		return run(m, "other-name", r, &api.Backup{}, &batchv1.Job{})
	},
}

type countingBackup struct {
	client.Client
	tries map[types.UID]int
}

func (r *countingBackup) Reconcile(ctx context.Context, backup *api.Backup) (ctrl.Result, error) {
	if going(backup) {
		return ctrl.Result{}, nil
	}
	if backup.Status.Job != "" {
		return ctrl.Result{}, followJob(ctx, r, backup)
	}
	job, err := newJob(r, backup)
	if err != nil {
		return ctrl.Result{}, err
	}
	job.Name = fmt.Sprintf("%s-%d", backup.Name, r.tries[backup.UID]+1)
	err = r.Create(ctx, job)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		r.tries[backup.UID]++
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportBackup(ctx, r, backup, job.Name, pending)
}
