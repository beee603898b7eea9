// Package several has a reconciler that deletes several objects by their names.
package several

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler keeps Deployments.
type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		for _, suffix := range []string{"-reader", "-writer"} {
			role := &rbacv1.ClusterRole{}
			role.Name = app.Name + suffix
			if err := r.Delete(ctx, role); err != nil {
				return ctrl.Result{}, err
			}
		}
		if controllerutil.RemoveFinalizer(app, "example.com/done") {
			return ctrl.Result{}, r.Update(ctx, app)
		}
	}
	return ctrl.Result{}, nil
}
