// Package tracks has a reconciler with a cache in one of its fields.
package tracks

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

type tracker struct{ seen map[string]bool }

func (t *tracker) mark(name string) { t.seen[name] = true }

// Reconciler remembers.
type Reconciler struct {
	client.Client
	tracker *tracker
}

func (r *Reconciler) Reconcile(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.tracker.mark(req.Name)
	return ctrl.Result{}, nil
}

// Add adds it to a manager.
func (r *Reconciler) Add(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).Complete(r)
}
