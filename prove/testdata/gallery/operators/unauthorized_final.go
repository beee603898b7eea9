package operators

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: a request that is refused for its token is taken for one that always will be, and not tried again. The
// token is replaced every hour, and the old one may have just run out.
var unauthorizedFinal = Operator{
	Name:  "unauthorized-final",
	About: "does not retry a request that was rejected because its token had expired",
	Model: "a transient error treated as permanent",
	Class: finding.LostUpdate, Property: finding.SameState, Also: []finding.Property{finding.NothingLeft, finding.Deletable, finding.SameFresh},
	Both:  "the request that it does not retry may be a creation, a change or a deletion",
	Needs: []Need{Expire}, CRDs: sites, Samples: "config/samples/site.yaml",
	Setup: func(m ctrl.Manager) error {
		return build(m, "unauthorized-final", &api.Site{}).
			WithEventFilter(predicate.GenerationChangedPredicate{}).
			Complete(reconcile.AsReconciler(m.GetClient(), &finalSite{m.GetClient()}))
	},
}

type finalSite struct{ client.Client }

func (r *finalSite) Reconcile(ctx context.Context, site *api.Site) (ctrl.Result, error) {
	err := r.keep(ctx, site)
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
		return ctrl.Result{}, reconcile.TerminalError(err) // the rights will not come by themselves
	}
	return ctrl.Result{}, err
}

func (r *finalSite) keep(ctx context.Context, site *api.Site) error {
	if going(site) {
		return finishSite(ctx, r, site)
	}
	if controllerutil.AddFinalizer(site, siteFinalizer) {
		if err := r.Update(ctx, site); err != nil {
			return err
		}
	}
	if err := keepRole(ctx, r, site); err != nil {
		return err
	}
	return reportGrant(ctx, r, site, siteRole(client.ObjectKeyFromObject(site)))
}
