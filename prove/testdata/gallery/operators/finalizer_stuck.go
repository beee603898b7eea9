package operators

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: that the ClusterRole is gone already is an error when it is to be removed. An operator that
// ends, or loses the answer, between the removal and the end of the finalizer never gets past it.
var finalizerStuck = Operator{
	Name:  "finalizer-stuck",
	About: "never removes its finalizer if the ClusterRole is already gone",
	Model: "a finalizer that is never removed, in many operators",
	Class: finding.Intermediate, Property: finding.Deletable, Also: []finding.Property{finding.NothingLeft, finding.Silent},
	Both:  "an object that cannot be deleted is left, and its deletion is retried forever",
	Needs: []Need{Delete, Kill}, CRDs: sites, Samples: "config/samples/site.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "finalizer-stuck", &insistentSite{m.GetClient()}, &api.Site{})
	},
}

type insistentSite struct{ client.Client }

func (r *insistentSite) Reconcile(ctx context.Context, site *api.Site) (ctrl.Result, error) {
	if going(site) {
		return ctrl.Result{}, r.finish(ctx, site)
	}
	if controllerutil.AddFinalizer(site, siteFinalizer) {
		if err := r.Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := keepRole(ctx, r, site); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportGrant(ctx, r, site, siteRole(client.ObjectKeyFromObject(site)))
}

func (r *insistentSite) finish(ctx context.Context, site *api.Site) error {
	if !controllerutil.ContainsFinalizer(site, siteFinalizer) {
		return nil
	}
	role := &rbacv1.ClusterRole{}
	role.Name = siteRole(client.ObjectKeyFromObject(site))
	if err := r.Delete(ctx, role); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(site, siteFinalizer)
	return r.Update(ctx, site)
}
