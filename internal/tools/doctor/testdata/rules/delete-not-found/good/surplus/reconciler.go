// Package surplus has a reconciler that deletes objects that it has just read, and others while its object lives.
package surplus

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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
	if !app.DeletionTimestamp.IsZero() {
		pods := &corev1.PodList{}
		if err := r.List(ctx, pods); err != nil {
			return ctrl.Result{}, err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if err := r.Delete(ctx, pod); err != nil {
				return ctrl.Result{}, err
			}
		}
		role := &rbacv1.ClusterRole{}
		if err := r.Get(ctx, client.ObjectKey{Name: app.Name}, role); err == nil {
			if err := r.Delete(ctx, role); err != nil {
				return ctrl.Result{}, err
			}
		}
		controllerutil.RemoveFinalizer(app, finalizer)
		return ctrl.Result{}, r.Update(ctx, app)
	}
	if app.Status.Replicas > 3 {
		if err := r.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: app.Name}}); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// Late keeps Deployments, and handles their deletion last.
type Late struct{ client.Client }

func (r *Late) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if app.DeletionTimestamp.IsZero() {
		if app.Status.Replicas == 0 {
			return ctrl.Result{}, nil
		}
		if err := r.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: app.Name}}); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, nil
	}
	controllerutil.RemoveFinalizer(app, finalizer)
	return ctrl.Result{}, r.Update(ctx, app)
}

const finalizer = "example.com/done"
