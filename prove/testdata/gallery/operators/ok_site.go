package operators

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: a finalizer comes before the ClusterRole, and goes after it. Nobody would remove a ClusterRole
// that is made for a Site of the past, so the API server is asked before one is made.
var okSite = Operator{
	Name: "ok-site", Correct: true,
	About: "deletes its ClusterRole with a finalizer, and creates none for a Site that exists only in its cache",
	CRDs:  sites, Samples: "config/samples/site.yaml",
	Setup: func(m ctrl.Manager) error {
		return build(m, "ok-site", &api.Site{}).
			Watches(&rbacv1.ClusterRole{}, siteOf()).
			Complete(reconcile.AsReconciler(m.GetClient(), &wholeSite{m.GetClient(), m.GetAPIReader()}))
	},
}

type wholeSite struct {
	client.Client
	live client.Reader
}

func (r *wholeSite) Reconcile(ctx context.Context, site *api.Site) (ctrl.Result, error) {
	if going(site) {
		return ctrl.Result{}, finishSite(ctx, r, site)
	}
	if controllerutil.AddFinalizer(site, siteFinalizer) {
		if err := r.Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	role := siteRole(client.ObjectKeyFromObject(site))
	err := r.Get(ctx, client.ObjectKey{Name: role}, &rbacv1.ClusterRole{})
	if apierrors.IsNotFound(err) {
		err = r.confirm(ctx, site)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := keepRole(ctx, r, site); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportGrant(ctx, r, site, role)
}

// confirm returns an error where the Site is another by now, is being deleted, or is gone.
func (r *wholeSite) confirm(ctx context.Context, site *api.Site) error {
	now := &api.Site{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(site), now); err != nil {
		return err
	}
	if now.UID != site.UID || going(now) {
		return fmt.Errorf("the Site %s is of the past", site.Name)
	}
	return nil
}
