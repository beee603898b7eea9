package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: when the ClusterRole cannot be made, that is logged, and the reconcile ends well. Only a change
// of the spec leads to another, so nobody tries again.
var swallowed = Operator{
	Name:  "swallowed",
	About: "logs that the ClusterRole could not be created, and does not retry",
	Model: "swallowed error, in many operators",
	Class: finding.LostUpdate, Property: finding.SameState,
	Needs: []Need{Answer}, CRDs: sites, Samples: "config/samples/site.yaml",
	Setup: func(m ctrl.Manager) error {
		return build(m, "swallowed", &api.Site{}).
			WithEventFilter(predicate.GenerationChangedPredicate{}).
			Complete(reconcile.AsReconciler(m.GetClient(), &calmSite{m.GetClient()}))
	},
}

type calmSite struct{ client.Client }

func (r *calmSite) Reconcile(ctx context.Context, site *api.Site) (ctrl.Result, error) {
	if going(site) {
		return ctrl.Result{}, finishSite(ctx, r, site)
	}
	if controllerutil.AddFinalizer(site, siteFinalizer) {
		if err := r.Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := keepRole(ctx, r, site); err != nil {
		log.FromContext(ctx).Error(err, "no ClusterRole")
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, reportGrant(ctx, r, site, siteRole(client.ObjectKeyFromObject(site)))
}
