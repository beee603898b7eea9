package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: the password is made once, the claims are left to the StatefulSet, nothing is ever
// deleted by the operator itself.
var okStore = Operator{
	Name: "ok-store", Correct: true,
	About: "manages password, settings, Service and StatefulSet, and leaves claims to the StatefulSet",
	CRDs:  stores, Samples: "config/samples/store.yaml", Role: "config/rbac/store.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-store", &wholeStore{m.GetClient()}, &api.Store{}, storeKinds()...)
	},
}

// wholeStore does all that there is to be done for a Store.
type wholeStore struct{ client.Client }

// Reconcile implements reconcile.ObjectReconciler.
func (r *wholeStore) Reconcile(ctx context.Context, store *api.Store) (ctrl.Result, error) {
	if going(store) {
		return ctrl.Result{}, nil
	}
	if err := keepPassword(ctx, r, store); err != nil {
		return ctrl.Result{}, err
	}
	if err := keepSettings(ctx, r, store); err != nil {
		return ctrl.Result{}, err
	}
	if err := keepMembers(ctx, r, store); err != nil {
		return ctrl.Result{}, err
	}
	set, err := keepSet(ctx, r, store)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportStore(ctx, r, store, set)
}
