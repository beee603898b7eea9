package good

import (
	"context"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Reconciler counts.
type Reconciler struct {
	client.Client
	lock sync.Mutex
	seen map[string]int
}

func (r *Reconciler) Reconcile(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.seen[req.Name]++
	return ctrl.Result{}, nil
}

// Add adds it to a manager.
func (r *Reconciler) Add(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).Complete(r)
}
