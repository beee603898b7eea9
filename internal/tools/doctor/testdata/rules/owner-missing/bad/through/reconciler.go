// Package through has a reconciler that passes its client on.
package through

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
type Reconciler struct{ Kube client.Client }

type scope struct {
	kube client.Client
	app  *appsv1.Deployment
}

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Kube.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	own := r.Kube
	if err := serve(ctx, own, app); err != nil {
		return ctrl.Result{}, err
	}
	s := &scope{kube: r.Kube, app: app}
	return ctrl.Result{}, s.configure(ctx)
}

func serve(ctx context.Context, c client.Client, app *appsv1.Deployment) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, c, service, func() error { return nil })
	return err
}

func (s *scope) configure(ctx context.Context) error {
	return s.kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.app.Namespace, Name: s.app.Name}})
}

// Grants keeps Namespaces, and creates what stays when they are deleted.
type Grants struct{ client.Client }

func (r *Grants) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	namespace := &corev1.Namespace{}
	if err := r.Get(ctx, req.NamespacedName, namespace); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{}, r.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name}})
}
