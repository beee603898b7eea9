// Package finalizer has a reconciler that removes by itself what it made in other namespaces.
package finalizer

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if app.DeletionTimestamp != nil {
		return ctrl.Result{}, r.clear(ctx, app)
	}
	if controllerutil.AddFinalizer(app, "example.com/services") {
		if err := r.Update(ctx, app); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: app.Name}})
}

func (r *Reconciler) clear(ctx context.Context, app *appsv1.Deployment) error {
	if err := r.DeleteAllOf(ctx, &corev1.Service{}, client.InNamespace("elsewhere")); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(app, "example.com/services")
	return r.Update(ctx, app)
}
