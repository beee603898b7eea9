package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/olm/change"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// proxy is an operator that needs the kind Memcached.
const proxy = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: proxy.v1.0.0}
spec:
  version: 1.0.0
  installModes: [{type: OwnNamespace, supported: true}]
  customresourcedefinitions:
    required:
    - {name: memcacheds.$GROUP, version: v1alpha1, kind: Memcached}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: proxy
        spec:
          selector: {matchLabels: {name: proxy}}
          template:
            metadata: {labels: {name: proxy}}
            spec: {containers: [{name: proxy, image: "proxy:1.0.0"}]}
`

// proxies adds the package of the proxy to a catalog. The bundle needs a kind.
func (w *world) proxies(r *registrytest.Registry, kind string) string {
	w.Helper()
	image := r.Push("proxy:1.0.0", map[string]string{
		"manifests/csv.yaml":        strings.ReplaceAll(proxy, "$GROUP", w.group),
		"metadata/annotations.yaml": "annotations:\n  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n  operators.operatorframework.io.bundle.package.v1: proxy\n",
	})
	return fmt.Sprintf(`---
schema: olm.package
name: proxy
defaultChannel: stable
---
schema: olm.channel
package: proxy
name: stable
entries: [{name: proxy.v1.0.0}]
---
schema: olm.bundle
package: proxy
name: proxy.v1.0.0
image: %s
properties:
- {type: olm.package, value: {packageName: proxy, version: 1.0.0}}
- {type: olm.gvk.required, value: {group: %s, version: v1alpha1, kind: %s}}
`, image, w.group, kind)
}

// What a version needs from other packages is installed with it, and stays when its Subscription is deleted.
func TestDependencies(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	shop := w.catalogWith(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n", w.proxies(r, "Memcached"))
	sub := w.subscribe("shop")
	sub.Name, sub.Spec.Package = "proxy", "proxy"
	w.Add(w.operatorGroup("group"), shop, sub)
	w.AwaitPhase("proxy.v1.0.0", v1alpha1.PhaseSucceeded, "")
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	var all v1alpha1.SubscriptionList
	w.Must(w.List(t.Context(), &all, client.InNamespace(w.Namespace)))
	if len(all.Items) != 2 {
		t.Fatalf("there are %d Subscriptions, want 2", len(all.Items))
	}
	w.quiet()
	connection, err := kube.New(w.Config, "test")
	w.Must(err)
	removal, err := change.Plan(t.Context(), connection, w.Namespace, sub.Name, false)
	w.Must(err)
	for _, want := range []string{"Subscription " + w.Namespace + "/proxy", "Subscription " + w.Namespace + "/memcached-stable-shop-" + w.Namespace, "ClusterServiceVersion " + w.Namespace + "/memcached-operator.v0.0.1"} {
		if !slices.Contains(removal.Removed, want) {
			t.Errorf("with the operator, %q would be removed, want %s", removal.Removed, want)
		}
	}
	w.Must(w.Delete(t.Context(), sub))
	w.AwaitGone(sub)
	w.quiet()
	w.Must(w.List(t.Context(), &all, client.InNamespace(w.Namespace)))
	if len(all.Items) != 1 || all.Items[0].Spec.Package != "memcached" || all.Items[0].Status.State != v1alpha1.StateAtLatestKnown {
		t.Errorf("after the deletion, there are %+v", all.Items)
	}
}

// A dependency that no catalog has is explained, and does not stop other Subscriptions of the namespace.
func TestDependencyThatIsMissing(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	shop := w.catalogWith(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n", w.proxies(r, "Queue"))
	bad, good := w.subscribe("shop"), w.subscribe("shop")
	bad.Name, bad.Spec.Package = "proxy", "proxy"
	w.Add(w.operatorGroup("group"), shop, bad, good)
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	localtest.Eventually(t, "the explanation", func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(bad), bad); err != nil {
			return err
		}
		failed := meta.FindStatusCondition(bad.Status.Problems, "ResolutionFailed")
		if failed == nil || failed.Reason != "Unsatisfiable" || !strings.Contains(failed.Message, "Queue") || !strings.Contains(failed.Message, "proxy") {
			return fmt.Errorf("the conditions are %+v", bad.Status.Problems)
		}
		t.Log(failed.Message)
		return nil
	})
}

// Before the approval of a version, its dependencies are not installed either. After it, each waits for its own approval.
func TestManualDependencies(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	shop := w.catalogWith(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n", w.proxies(r, "Memcached"))
	sub := w.subscribe("shop")
	sub.Name, sub.Spec.Package, sub.Spec.InstallPlanApproval = "proxy", "proxy", v1alpha1.Manual
	w.Add(w.operatorGroup("group"), shop, sub)
	plan := w.planOf("proxy.v1.0.0")
	w.awaitPlan(plan.Name, v1alpha1.PlanRequiresApproval)
	w.quiet()
	w.sent.mustNotContain(t, "subscriptions/memcached")
	w.approve(plan)
	dependency := w.planOf(first)
	w.awaitPlan(dependency.Name, v1alpha1.PlanRequiresApproval)
	w.AwaitPhase("proxy.v1.0.0", v1alpha1.PhasePending, "RequirementsNotMet")
	w.quiet()
	w.sent.mustNotContain(t, "clusterserviceversions/memcached")
	connection, err := kube.New(w.Config, "test")
	w.Must(err)
	ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
	defer cancel()
	err = change.Await(ctx, connection, w.Namespace, sub.Name, "proxy.v1.0.0", func(string) {})
	if want := "operon olm approve " + dependency.Name + " -n " + w.Namespace; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the upgrade: %v, want %s", err, want)
	}
	w.approve(dependency)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.AwaitPhase("proxy.v1.0.0", v1alpha1.PhaseSucceeded, "")
	w.Must(change.Await(ctx, connection, w.Namespace, sub.Name, "proxy.v1.0.0", func(string) {}))
}

// A version that was deleted with its dependency waits for another approval, and the dependency with it.
func TestManualDependenciesOfADeletedVersion(t *testing.T) {
	t.Parallel()
	w, r := &world{T: t, Env: localtest.Shared(t)}, registrytest.New(t)
	w.connect()
	stop := w.start(operon.Config{Namespaces: []string{w.Namespace}}, true)
	shop := w.catalogWith(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n", w.proxies(r, "Memcached"))
	sub := w.subscribe("shop")
	sub.Name, sub.Spec.Package, sub.Spec.InstallPlanApproval = "proxy", "proxy", v1alpha1.Manual
	w.Add(w.operatorGroup("group"), shop, sub)
	for _, name := range []string{"proxy.v1.0.0", first} {
		w.approve(w.planOf(name))
	}
	w.AwaitPhase("proxy.v1.0.0", v1alpha1.PhaseSucceeded, "")
	w.quiet()
	stop() // so that all are deleted together
	for _, object := range []client.Object{
		&v1alpha1.Subscription{ObjectMeta: w.Named("memcached-stable-shop-" + w.Namespace)},
		&v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(first)}, &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named("proxy.v1.0.0")},
	} {
		w.patch(object, `{"metadata":{"finalizers":null}}`)
		w.Must(w.Delete(t.Context(), object))
		w.AwaitGone(object)
	}
	w.run(w.Namespace)
	w.awaitPlan(w.planOf("proxy.v1.0.0").Name, v1alpha1.PlanRequiresApproval)
	w.quiet()
	w.sent.mustNotContain(t, "subscriptions/memcached")
}
