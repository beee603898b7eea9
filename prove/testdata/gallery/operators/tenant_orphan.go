package operators

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// Wrong: the ClusterRole of a Tenant has no owner, though it could, and no finalizer removes it.
var tenantOrphan = Operator{
	Name: "tenant-orphan", Wide: true,
	About: "leaves the ClusterRole of a deleted Tenant",
	Model: "orphaned child of a cluster-scoped kind",
	Class: finding.Leak, Property: finding.NothingLeft,
	Needs: []Need{Delete}, CRDs: tenants, Samples: "config/samples/tenant.yaml",
	Setup: func(m ctrl.Manager) error {
		return run(m, "tenant-orphan", &carelessTenant{m.GetClient()}, &api.Tenant{}, &rbacv1.ClusterRole{})
	},
}

type carelessTenant struct{ client.Client }

func (r *carelessTenant) Reconcile(ctx context.Context, tenant *api.Tenant) (ctrl.Result, error) {
	if going(tenant) {
		return ctrl.Result{}, nil
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "tenant-" + tenant.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r, role, func() error {
		role.Labels = with(role.Labels, labels(tenant))
		fillRole(role, tenant.Spec)
		return nil
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, reportGrant(ctx, r, tenant, role.Name)
}
