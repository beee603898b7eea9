// Package generation has a reconciler that its own status does not trigger.
package generation

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Reconciler keeps CronJobs.
type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	job := &batchv1.CronJob{}
	if err := r.Get(ctx, req.NamespacedName, job); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	now := metav1.Now()
	job.Status.LastScheduleTime = &now
	return ctrl.Result{}, r.Status().Update(ctx, job)
}

// Add adds it to a manager.
func (r *Reconciler) Add(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		For(&batchv1.CronJob{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).Complete(r)
}
