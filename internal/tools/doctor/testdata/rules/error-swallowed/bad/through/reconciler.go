// Package through has a reconciler that logs an error and continues.
package through

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Reconciler keeps Deployments.
type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.Create(ctx, &appsv1.Deployment{}); err != nil {
		log.FromContext(ctx).Error(err, "no deployment")
	}
	_ = r.Status().Update(ctx, app)
	return ctrl.Result{}, r.Update(ctx, app)
}
