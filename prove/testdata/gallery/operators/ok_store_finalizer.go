package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: what belongs to a Store that is being deleted is deleted only where that very Store owns it, not
// another of the same name.
var okStoreFinalizer = Operator{
	Name: "ok-store-finalizer", Correct: true,
	About: "deletes with a finalizer, and only what this Store owns",
	CRDs:  stores, Samples: "config/samples/store.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-store-finalizer", &finishedStore{m.GetClient()}, &api.Store{}, storeKinds()...)
	},
}

type finishedStore struct{ client.Client }

func (r *finishedStore) Reconcile(ctx context.Context, store *api.Store) (ctrl.Result, error) {
	if going(store) {
		return ctrl.Result{}, r.end(ctx, store)
	}
	if controllerutil.AddFinalizer(store, storeFinalizer) {
		if err := r.Update(ctx, store); err != nil {
			return ctrl.Result{}, err
		}
	}
	whole := wholeStore{r.Client}
	return whole.Reconcile(ctx, store)
}

func (r *finishedStore) end(ctx context.Context, store *api.Store) error {
	if !controllerutil.ContainsFinalizer(store, storeFinalizer) {
		return nil
	}
	if err := drop(ctx, r, store, &appsv1.StatefulSet{ObjectMeta: named(store, "")}); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(store, storeFinalizer)
	return client.IgnoreNotFound(r.Update(ctx, store))
}
