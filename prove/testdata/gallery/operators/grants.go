package operators

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/prove/testdata/gallery/api"
)

// siteRole is the name of a Site's ClusterRole.
func siteRole(site types.NamespacedName) string {
	return "site-" + site.Namespace + "-" + site.Name
}

// siteFinalizer holds a Site until its ClusterRole is gone.
const siteFinalizer = "gallery.operon.dev/role"

// Labels of a ClusterRole that lead to its Site.
const (
	siteNamespace = "gallery.operon.dev/namespace"
	siteName      = "gallery.operon.dev/site"
)

// keepRole keeps the ClusterRole of a Site, which cannot own it.
func keepRole(ctx context.Context, c client.Client, site *api.Site) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: siteRole(client.ObjectKeyFromObject(site))}}
	_, err := controllerutil.CreateOrUpdate(ctx, c, role, func() error {
		role.Labels = with(role.Labels, map[string]string{siteNamespace: site.Namespace, siteName: site.Name})
		fillRole(role, site.Spec)
		return nil
	})
	return err
}

func fillRole(role *rbacv1.ClusterRole, spec api.GrantSpec) {
	role.Annotations = with(role.Annotations, map[string]string{"gallery.operon.dev/note": spec.Note})
	role.Rules = nil
	if len(spec.Reads) > 0 {
		role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: spec.Reads, Verbs: []string{"get", "list", "watch"}}}
	}
}

// finishSite removes the ClusterRole of a Site that is being deleted, and then its finalizer.
func finishSite(ctx context.Context, c client.Client, site *api.Site) error {
	if !controllerutil.ContainsFinalizer(site, siteFinalizer) {
		return nil
	}
	if err := removeRole(ctx, c, client.ObjectKeyFromObject(site)); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(site, siteFinalizer)
	return client.IgnoreNotFound(c.Update(ctx, site))
}

// removeRole deletes the ClusterRole of a Site. That it is gone already is as good.
func removeRole(ctx context.Context, c client.Client, site types.NamespacedName) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: siteRole(site)}}
	return client.IgnoreNotFound(c.Delete(ctx, role))
}

// reportGrant writes the status of a Site or Tenant, where it is not that already.
func reportGrant(ctx context.Context, c client.Client, of api.Granted, role string) error {
	_, status := of.Grant()
	before := status.DeepCopy()
	status.ObservedGeneration, status.Role = of.GetGeneration(), role
	meta.SetStatusCondition(&status.Conditions, readiness(of, true, "Granted"))
	if equality.Semantic.DeepEqual(before, status) {
		return nil
	}
	return c.Status().Update(ctx, of)
}

// siteOf finds the Site of a ClusterRole.
func siteOf() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, role client.Object) []reconcile.Request {
		of := types.NamespacedName{Namespace: role.GetLabels()[siteNamespace], Name: role.GetLabels()[siteName]}
		if of.Name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: of}}
	})
}
