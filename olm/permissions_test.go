package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/require"
)

// authorizer is an API server whose authorizers do not know yet what was granted.
type authorizer struct {
	*require.Server
	denies *atomic.Bool
}

func (a *authorizer) Allowed(ctx context.Context, account client.ObjectKey, namespace string, rule rbacv1.PolicyRule) (bool, error) {
	if a.denies.Load() {
		return false, nil
	}
	return a.Server.Allowed(ctx, account, namespace, rule)
}

// An API server may learn of permissions after the manager does. It is asked again, although no object changes.
func TestPermissionsSeenLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.denies.Store(true)
	w.Add(w.operatorGroup("group"))
	w.Add(w.requirements()...)
	w.Add(w.csv(memcached))
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhasePending, "RequirementsNotMet")
	w.quiet()
	w.denies.Store(false)
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
}

// Permissions that were granted stay while a plan of the version cannot be carried out.
func TestGrantedPermissionsStay(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	version := "memcached-operator.v0.0.1"
	w.Add(w.operatorGroup("group"), w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: "+version+"}\n"))
	plan := func(name, catalog string) *v1alpha1.InstallPlan {
		one := &v1alpha1.InstallPlan{ObjectMeta: w.Named(name), Spec: v1alpha1.InstallPlanSpec{
			ClusterServiceVersionNames: []string{version}, Approval: v1alpha1.Automatic, Approved: true,
		}}
		one.Annotations = map[string]string{"olm.bundles": version + "=" + catalog}
		return one
	}
	first := plan("install-1", w.Namespace+"/shop")
	w.Add(first)
	w.AwaitPhase(version, v1alpha1.PhaseSucceeded, "")
	w.awaitPlan("install-1", v1alpha1.PlanComplete)
	before := w.granted(version)

	w.Add(plan("install-2", "other/shop")) // a catalog that it may not use
	w.awaitPlan("install-2", v1alpha1.PlanPlanning)
	w.Must(w.Delete(t.Context(), first))
	w.AwaitGone(first)
	forgotten := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"permissionsDigest":null}}`))
	w.Must(w.Status().Patch(t.Context(), &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(version)}, forgotten))
	w.quiet()
	if after := w.granted(version); after.UID != before.UID {
		t.Errorf("the Role has the UID %s, want %s", after.UID, before.UID)
	}
	w.AwaitPhase(version, v1alpha1.PhaseSucceeded, "")
}

// A label of a version changes none of its permissions, although older managers have stored a digest that depends on labels.
func TestLabelsOfAVersion(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	plan := w.plan("install-1", "0.0.1", "", v1alpha1.Automatic)
	w.Add(w.operatorGroup("group"), w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n"), plan)
	w.awaitPlan(plan.Name, v1alpha1.PlanComplete)
	csv := w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.Must(w.Delete(t.Context(), plan))
	w.AwaitGone(plan)
	w.patch(csv, `{"metadata":{"labels":{"operators.coreos.com/other":""}}}`)
	w.quiet()
	csv = w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	digest := csv.Status.PermissionsDigest
	bundled := csv.DeepCopy()
	delete(bundled.Labels, "operators.coreos.com/other")
	for i, of := range []*v1alpha1.ClusterServiceVersion{csv, bundled} { // the second one was broken by the label
		former, err := render.FormerDigest(of)
		w.Must(err)
		if former == digest {
			t.Fatal("the digest depends on labels")
		}
		w.Must(w.Status().Patch(t.Context(), csv, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"permissionsDigest":%q}}`, former))))
		w.patch(csv, fmt.Sprintf(`{"metadata":{"labels":{"look":"%d"}}}`, i))
		w.Await(first, "has the digest of this manager", func(csv *v1alpha1.ClusterServiceVersion) bool {
			return csv.Status.PermissionsDigest == digest && csv.Status.Phase == v1alpha1.PhaseSucceeded
		})
	}
}
