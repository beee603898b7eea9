// Package remote has reconcilers that create objects in other clusters, where the owner does not exist.
package remote

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Reconciler installs an agent in the cluster of a Deployment.
type Reconciler struct {
	client.Client
	remote client.Client
}

// workload is another cluster.
type workload struct{ Client client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	remoteClient, err := client.New(&rest.Config{Host: app.Name}, client.Options{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := remoteClient.Create(ctx, agent()); err != nil {
		return ctrl.Result{}, err
	}
	if _, err := controllerutil.CreateOrUpdate(ctx, remoteClient, agent(), func() error { return nil }); err != nil {
		return ctrl.Result{}, err
	}
	if err := install(ctx, remoteClient); err != nil {
		return ctrl.Result{}, err
	}
	if err := (&workload{Client: remoteClient}).install(ctx); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.remote.Create(ctx, agent())
}

func (w *workload) install(ctx context.Context) error { return w.Client.Create(ctx, agent()) }

func install(ctx context.Context, c client.Client) error { return c.Create(ctx, agent()) }

func agent() *corev1.Service { return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "agent"}} }
