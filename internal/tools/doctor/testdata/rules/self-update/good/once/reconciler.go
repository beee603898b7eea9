package once

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconciler pauses Deployments that are ready.
type Reconciler struct{ client.Client }

// Reconcile returns early where there is nothing to do.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if app.Spec.Paused {
		return ctrl.Result{}, nil
	}
	app.Spec.Paused = true
	return ctrl.Result{}, r.Update(ctx, app)
}
