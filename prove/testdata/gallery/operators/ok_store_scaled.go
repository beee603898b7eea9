package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: fewer members need fewer claims, and the user asked for fewer members.
var okStoreScaled = Operator{
	Name: "ok-store-scaled", Correct: true,
	About: "lets the StatefulSet delete the claims of members that are no longer asked for",
	CRDs:  stores, Samples: "config/samples/store.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-store-scaled", &scaledStore{wholeStore{m.GetClient()}}, &api.Store{}, storeKinds()...)
	},
}

type scaledStore struct{ wholeStore }

func (r *scaledStore) Reconcile(ctx context.Context, store *api.Store) (ctrl.Result, error) {
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
	set := &appsv1.StatefulSet{ObjectMeta: named(store, "")}
	err := keep(ctx, r, store, set, func() {
		fillSet(set, store)
		set.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportStore(ctx, r, store, set)
}
