package operators

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: a ClusterRole cannot be owned by an object of a namespace, so Kubernetes does not remove it, and the
// operator does not either.
var noFinalizer = Operator{
	Name:  "no-finalizer",
	About: "leaves the ClusterRole of a deleted Site",
	Model: "missing finalizer for a child that garbage collection does not reach",
	Class: finding.Leak, Property: finding.NothingLeft,
	Needs: []Need{Delete}, CRDs: sites, Samples: "config/samples/site.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "no-finalizer", &carelessSite{m.GetClient()}, &api.Site{})
	},
}

type carelessSite struct{ client.Client }

func (r *carelessSite) Reconcile(ctx context.Context, site *api.Site) (ctrl.Result, error) {
	if going(site) {
		return ctrl.Result{}, nil
	}
	if err := keepRole(ctx, r, site); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportGrant(ctx, r, site, siteRole(client.ObjectKeyFromObject(site)))
}
