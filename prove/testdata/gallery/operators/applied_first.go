package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the StatefulSet notes which spec was applied, and is written before the settings are. An
// operator that ends between the two finds the note, and never writes the settings.
var appliedFirst = Operator{
	Name:  "applied-first",
	About: "records a spec as applied before it has applied all of it",
	Model: "Sieve, intermediate state (a resize in the RabbitMQ operator that never finishes)",
	Class: finding.Intermediate, Property: finding.SameState, Also: []finding.Property{finding.SameFresh},
	Both:  "if it is down while the spec changes, the rest of the change is never applied",
	Needs: []Need{Kill}, CRDs: stores, Samples: "config/samples/store.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "applied-first", &notingStore{m.GetClient()}, &api.Store{}, storeKinds()...)
	},
}

type notingStore struct{ client.Client }

const appliedSpec = "gallery.operon.dev/applied"

func (r *notingStore) Reconcile(ctx context.Context, store *api.Store) (ctrl.Result, error) {
	if going(store) {
		return ctrl.Result{}, nil
	}
	if err := keepPassword(ctx, r, store); err != nil {
		return ctrl.Result{}, err
	}
	if err := keepMembers(ctx, r, store); err != nil {
		return ctrl.Result{}, err
	}
	set := &appsv1.StatefulSet{}
	err := r.Get(ctx, client.ObjectKeyFromObject(store), set)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if note := hash(store.Spec); set.Annotations[appliedSpec] != note {
		if set, err = r.apply(ctx, store, note); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, reportStore(ctx, r, store, set)
}

func (r *notingStore) apply(ctx context.Context, store *api.Store, note string) (*appsv1.StatefulSet, error) {
	set := &appsv1.StatefulSet{ObjectMeta: named(store, "")}
	err := keep(ctx, r, store, set, func() {
		set.Annotations = with(set.Annotations, map[string]string{appliedSpec: note})
		fillSet(set, store)
	})
	if err != nil {
		return nil, err
	}
	return set, keepSettings(ctx, r, store)
}
