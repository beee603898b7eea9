// Package above has a reconciler that takes the lock before it calls who writes.
package above

import (
	"context"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Reconciler forgets.
type Reconciler struct {
	client.Client
	lock sync.Mutex
	seen map[string]int
}

func (r *Reconciler) Reconcile(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.forget(req.Name)
	return ctrl.Result{}, nil
}

func (r *Reconciler) forget(name string) { delete(r.seen, name) }

// Add adds it to a manager.
func (r *Reconciler) Add(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).Complete(r)
}
