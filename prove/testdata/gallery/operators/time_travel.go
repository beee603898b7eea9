package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: what belongs to a Store that is being deleted is deleted by its name. An operator that is started again, and
// sees a Store's end from before it was made again, deletes the data of the new one.
var timeTravel = Operator{
	Name:  "time-travel",
	About: "deletes by name the children of a Store that its cache shows as being deleted",
	Model: "Sieve, time travel (the RabbitMQ and Cassandra operators, among others)",
	Class: finding.Stale, Property: finding.DataKept,
	Needs: []Need{Delete, Freeze}, CRDs: stores, Samples: "config/samples/store.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "time-travel", &endedStore{m.GetClient()}, &api.Store{}, storeKinds()...)
	},
}

type endedStore struct{ client.Client }

func (r *endedStore) Reconcile(ctx context.Context, store *api.Store) (ctrl.Result, error) {
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

func (r *endedStore) end(ctx context.Context, store *api.Store) error {
	if !controllerutil.ContainsFinalizer(store, storeFinalizer) {
		return nil
	}
	set := &appsv1.StatefulSet{ObjectMeta: named(store, "")}
	if err := r.Delete(ctx, set); client.IgnoreNotFound(err) != nil {
		return err
	}
	err := r.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, client.InNamespace(store.Namespace), client.MatchingLabels(labels(store)))
	if err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(store, storeFinalizer)
	return client.IgnoreNotFound(r.Update(ctx, store))
}
