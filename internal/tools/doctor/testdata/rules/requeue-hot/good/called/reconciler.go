// Package called has a reconciler that requeues only in some states.
package called

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconciler keeps Deployments.
type Reconciler struct{ client.Client }

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app, child := &appsv1.Deployment{}, &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	err := r.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-child"}, child)
	if apierrors.IsNotFound(err) {
		return r.make(ctx, child)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if _, err := r.make(ctx, child); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) make(ctx context.Context, child *appsv1.Deployment) (ctrl.Result, error) {
	if err := r.Create(ctx, child); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{Requeue: true}, nil
}

// Stepwise returns early when it is done.
type Stepwise struct{ client.Client }

func (r *Stepwise) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	done, err := r.step(ctx, req)
	if done || err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{Requeue: true}, nil
}

func (r *Stepwise) step(ctx context.Context, req ctrl.Request) (bool, error) {
	err := r.Get(ctx, req.NamespacedName, &appsv1.Deployment{})
	return err == nil, client.IgnoreNotFound(err)
}

// Found requeues only after it created the object.
type Found struct{ client.Client }

func (r *Found) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	err := r.Get(ctx, req.NamespacedName, &appsv1.Deployment{})
	if err == nil {
		return ctrl.Result{}, nil
	}
	if !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err
	}
	return ctrl.Result{Requeue: true}, nil
}

// Switching requeues only in the default case.
type Switching struct{ client.Client }

func (r *Switching) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch app.Status.ReadyReplicas {
	case 1:
		return ctrl.Result{}, nil
	}
	return ctrl.Result{Requeue: true}, nil
}

// Deleting requeues only during the deletion.
type Deleting struct{ client.Client }

func (r *Deleting) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{Requeue: true}, nil
}

// Phases passes an object on to a reconciler of one of its phases.
type Phases struct {
	client.Client
	first phase
}

type phase struct{ client.Client }

func (r *Phases) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if app.Status.ReadyReplicas == 0 {
		return r.first.Reconcile(ctx, app)
	}
	return ctrl.Result{}, nil
}

func (p *phase) Reconcile(ctx context.Context, app *appsv1.Deployment) (ctrl.Result, error) {
	if err := p.Update(ctx, app); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{Requeue: true}, nil
}
