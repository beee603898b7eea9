// Package tenant has a reconciler that owns Namespaces. What it creates in them is deleted with them.
package tenant

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler gives each Node a Namespace.
type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{}
	if err := r.Get(ctx, req.NamespacedName, node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.space(ctx, node); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.bind(ctx, node)
}

func (r *Reconciler) space(ctx context.Context, node *corev1.Node) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	if err := controllerutil.SetControllerReference(node, namespace, r.Scheme()); err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(r.Create(ctx, namespace))
}

func (r *Reconciler) bind(ctx context.Context, node *corev1.Node) error {
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: node.Name, Name: "admin"}}
	return client.IgnoreAlreadyExists(r.Create(ctx, binding))
}
