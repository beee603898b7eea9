package operators

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Correct: a Tenant has no namespace, nor has its ClusterRole, so the one can own the other.
var okTenant = Operator{
	Name: "ok-tenant", Correct: true, Wide: true,
	About: "manages a ClusterRole that is owned by a cluster-scoped Tenant",
	CRDs:  tenants, Samples: "config/samples/tenant.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "ok-tenant", &wholeTenant{m.GetClient()}, &api.Tenant{}, &rbacv1.ClusterRole{})
	},
}

type wholeTenant struct{ client.Client }

func (r *wholeTenant) Reconcile(ctx context.Context, tenant *api.Tenant) (ctrl.Result, error) {
	if going(tenant) {
		return ctrl.Result{}, nil
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "tenant-" + tenant.Name}}
	if err := keep(ctx, r, tenant, role, func() { fillRole(role, tenant.Spec) }); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportGrant(ctx, r, tenant, role.Name)
}
