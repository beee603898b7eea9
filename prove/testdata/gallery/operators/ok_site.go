package operators

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: a finalizer comes before the ClusterRole, and goes after it. A ClusterRole whose Site
// is gone all the same, as one of an operator that acted on the past, is removed when it is seen.
var okSite = Operator{
	Name: "ok-site", Correct: true,
	About: "removes its ClusterRole with a finalizer, and also when it finds one whose Site is gone",
	CRDs:  sites, Samples: "config/samples/site.yaml",
	Setup: func(m ctrl.Manager) error {
		return build(m, "ok-site", &api.Site{}).
			Watches(&rbacv1.ClusterRole{}, siteOf()).
			Complete(&wholeSite{m.GetClient(), m.GetAPIReader()})
	},
}

type wholeSite struct {
	client.Client
	live client.Reader
}

func (r *wholeSite) Reconcile(ctx context.Context, of ctrl.Request) (ctrl.Result, error) {
	site := &api.Site{}
	err := r.Get(ctx, of.NamespacedName, site)
	if apierrors.IsNotFound(err) {
		err = r.live.Get(ctx, of.NamespacedName, site) // the cache may be behind
	}
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, removeRole(ctx, r, of.NamespacedName)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if going(site) {
		return ctrl.Result{}, finishSite(ctx, r, site)
	}
	if controllerutil.AddFinalizer(site, siteFinalizer) {
		if err := r.Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := keepRole(ctx, r, site); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportGrant(ctx, r, site, siteRole(of.NamespacedName))
}
