// Package tolog has reconcilers that only log.
package tolog

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconcilers, one for each way to log.
type (
	Printed    struct{ client.Client }
	Logged     struct{ client.Client }
	Structured struct{ client.Client }
	Kubernetes struct{ client.Client }
)

func (r *Printed) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.Delete(ctx, &appsv1.Deployment{}); err != nil {
		fmt.Println(err)
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, nil
}

func (r *Logged) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.Delete(ctx, &appsv1.Deployment{}); err != nil {
		log.Print(err)
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, nil
}

func (r *Structured) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.Delete(ctx, &appsv1.Deployment{}); err != nil {
		slog.Error("no deletion", "error", err)
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, nil
}

func (r *Kubernetes) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.Delete(ctx, &appsv1.Deployment{}); err != nil {
		klog.ErrorS(err, "No deletion")
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, nil
}
