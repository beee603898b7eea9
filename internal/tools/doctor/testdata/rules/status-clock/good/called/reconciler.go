// Package called has a reconciler whose helpers write a time only if they are called.
package called

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconciler keeps Jobs.
type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	job := &batchv1.Job{}
	if err := r.Get(ctx, req.NamespacedName, job); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.markStarted(ctx, job); err != nil {
		return ctrl.Result{}, err
	}
	if job.Status.Succeeded > 0 {
		return ctrl.Result{}, r.markDone(ctx, job)
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) markDone(ctx context.Context, job *batchv1.Job) error {
	job.Status.CompletionTime = ptr.To(metav1.Now())
	return r.Status().Update(ctx, job)
}

func (r *Reconciler) markStarted(ctx context.Context, job *batchv1.Job) error {
	started := job.Status.StartTime
	if started == nil {
		started = ptr.To(metav1.Now())
	}
	job.Status.StartTime = started
	return r.Status().Update(ctx, job)
}
