// Package besteffort has a reconciler that records a failure as well as it can, and returns the error that caused it.
package besteffort

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Reconciler keeps Deployments.
type Reconciler struct{ client.Client }

var errBusy = errors.New("busy")

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.Update(ctx, app); err != nil {
		app.Status.Replicas = 0
		_ = r.Status().Update(ctx, app)
		return ctrl.Result{}, err
	}
	if err := r.Update(ctx, app); err != nil {
		if app.Status.Replicas > 0 {
			_ = r.Status().Update(ctx, app)
		}
		if failed := r.Status().Update(ctx, app); failed != nil {
			log.FromContext(ctx).Error(failed, "no status")
		}
		return ctrl.Result{}, fmt.Errorf("update: %w", err)
	}
	if app.Status.Replicas > 3 {
		r.Status().Update(ctx, app)
		return ctrl.Result{}, errBusy
	}
	if err := r.Status().Update(ctx, app); err != nil {
		log.FromContext(ctx).Error(err, "no status, until the next poll")
	}
	if app.Status.Replicas > 2 {
		_ = r.Status().Update(ctx, app)
		return ctrl.Result{}, fmt.Errorf("%d replicas", app.Status.Replicas)
	}
	return ctrl.Result{RequeueAfter: time.Minute}, nil
}

// Recorder writes Events.
type Recorder struct{ client.Client }

func (r *Recorder) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.Create(ctx, &corev1.Event{}); err != nil {
		log.FromContext(ctx).Error(err, "no event")
	}
	if err := r.Delete(ctx, &corev1.Pod{}); err != nil {
		log.FromContext(ctx).Error(err, "the pod ends by itself")
	}
	return ctrl.Result{}, nil
}
