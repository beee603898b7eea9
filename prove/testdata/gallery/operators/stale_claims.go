package operators

import (
	"context"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: claims of members beyond the size that the cache shows are deleted by name. An operator that
// sees the size of yesterday deletes the claims of members that are at work.
var staleClaims = Operator{
	Name:  "stale-claims",
	About: "deletes the claims of members beyond the size that its cache shows",
	Model: "Sieve, stale state (the ZooKeeper and Cassandra operators delete claims in use)",
	Class: finding.Stale, Property: finding.DataKept,
	Needs: []Need{Change, Freeze}, CRDs: stores, Samples: "config/samples/store.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "stale-claims", &sweepingStore{m.GetClient()}, &api.Store{}, storeKinds()...)
	},
}

type sweepingStore struct{ client.Client }

func (r *sweepingStore) Reconcile(ctx context.Context, store *api.Store) (ctrl.Result, error) {
	whole := wholeStore{r.Client}
	if result, err := whole.Reconcile(ctx, store); err != nil || going(store) {
		return result, err
	}
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.List(ctx, claims, client.InNamespace(store.Namespace), client.MatchingLabels(labels(store))); err != nil {
		return ctrl.Result{}, err
	}
	for _, claim := range claims.Items {
		if going(&claim) || memberOf(&claim) < int(store.Spec.Size) {
			continue
		}
		if err := r.Delete(ctx, &claim); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// memberOf is the number of the member that a claim belongs to, -1 where there is none.
func memberOf(claim *corev1.PersistentVolumeClaim) int {
	name := claim.Name
	number, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil {
		return -1
	}
	return number
}
