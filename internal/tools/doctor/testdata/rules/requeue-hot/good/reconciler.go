package good

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconciler keeps Deployments.
type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if app.Status.ReadyReplicas == 0 {
		return ctrl.Result{RequeueAfter: 500 * time.Millisecond}, nil
	}
	if app.Status.ReadyReplicas > 1 {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
}
