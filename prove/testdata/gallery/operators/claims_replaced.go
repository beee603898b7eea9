package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: another version is installed by taking away the StatefulSet with its claims, and making it again.
var claimsReplaced = Operator{
	Name:  "claims-replaced",
	About: "deletes StatefulSet and claims to install another version",
	Model: "a claim deleted and recreated on a change",
	Class: finding.Misoperation, Property: finding.DataKept,
	Needs: []Need{Change}, CRDs: stores, Samples: "config/samples/store.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "claims-replaced", &reinstalledStore{m.GetClient()}, &api.Store{}, storeKinds()...)
	},
}

type reinstalledStore struct{ client.Client }

func (r *reinstalledStore) Reconcile(ctx context.Context, store *api.Store) (ctrl.Result, error) {
	if going(store) {
		return ctrl.Result{}, nil
	}
	set := &appsv1.StatefulSet{}
	err := r.Get(ctx, client.ObjectKeyFromObject(store), set)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	image := "example.com/store:" + store.Spec.Version
	if err == nil && !going(set) && set.Spec.Template.Spec.Containers[0].Image != image {
		if err := r.uninstall(ctx, store, set); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, nil // the end of the StatefulSet is an event
	}
	whole := wholeStore{r.Client}
	return whole.Reconcile(ctx, store)
}

func (r *reinstalledStore) uninstall(ctx context.Context, store *api.Store, set *appsv1.StatefulSet) error {
	if err := r.Delete(ctx, set); client.IgnoreNotFound(err) != nil {
		return err
	}
	return r.DeleteAllOf(ctx, &corev1.PersistentVolumeClaim{}, client.InNamespace(store.Namespace), client.MatchingLabels(labels(store)))
}
