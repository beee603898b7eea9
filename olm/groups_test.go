package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"

	v1 "github.com/operon-framework/operon/internal/olm/api/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// An operator follows the namespaces of its group while they change, with its pods and its permissions. Two groups in a namespace are one too
// many, and two groups with a common namespace do not have operators for the same kind.
func TestGroups(t *testing.T) {
	t.Parallel()
	w := &world{T: t, Env: localtest.Shared(t)}
	w.connect()
	r, team, other := registrytest.New(t), w.Namespace, w.Namespace+"-b"
	label := func(namespace, value string) {
		w.Must(w.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
			client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(`{"metadata":{"labels":{"team":%s}}}`, value)))))
	}
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}})
	w.Cleanup(func() {
		w.Must(client.IgnoreNotFound(w.Delete(context.WithoutCancel(t.Context()), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}})))
	})
	w.run(w.Namespace, other)
	label(w.Namespace, fmt.Sprintf("%q", team))
	group := &v1.OperatorGroup{ObjectMeta: w.Named("group"), Spec: v1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}}}
	text := strings.Replace(memcached, "{type: MultiNamespace, supported: false}", "{type: MultiNamespace, supported: true}", 1)
	w.Add(group, w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", text)}, "- {name: memcached-operator.v0.0.1}\n"),
		w.plan("install-1", "0.0.1", "", v1alpha1.Automatic))
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.works(other, false)

	label(other, fmt.Sprintf("%q", team))
	w.works(other, true)
	rival := w.csv(strings.ReplaceAll(memcached, "memcached-operator", "rival"))
	rival.Namespace = other
	w.Add(&v1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "group"}, Spec: v1.OperatorGroupSpec{TargetNamespaces: []string{w.Namespace}}}, rival)
	localtest.Eventually(t, "the other group has no operator for the kind", func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(rival), rival); err != nil {
			return err
		}
		if rival.Status.Reason != "InterOperatorGroupOwnerConflict" || !strings.Contains(rival.Status.Message, first) {
			return fmt.Errorf("its status is %+v", rival.Status)
		}
		return nil
	})
	w.Must(w.Delete(t.Context(), rival))
	w.AwaitGone(rival)
	label(other, "null")
	w.works(other, false)

	second := w.operatorGroup("second")
	w.Add(second)
	w.AwaitPhase(first, v1alpha1.PhaseFailed, "TooManyOperatorGroups")
	w.Must(w.Delete(t.Context(), second))
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")

	label(other, fmt.Sprintf("%q", team))
	w.works(other, true)
	w.Must(w.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}}))
	w.works(other, false)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")

	w.AwaitGone(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}})
	w.patch(group, fmt.Sprintf(`{"spec":{"selector":null,"targetNamespaces":[%q,%q]}}`, w.Namespace, other))
	w.Await(first, "has a namespace that does not exist", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Annotations["olm.targetNamespaces"] == w.Namespace+","+other
	})
	w.quiet()
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}})
	w.works(other, true)
}

// works waits until the operator works in its own namespace, and in another one or not.
func (w *world) works(other string, there bool) {
	w.Helper()
	localtest.Eventually(w.T, fmt.Sprintf("the operator works in %s: %v", other, there), func(ctx context.Context) error {
		want, bindings := w.Namespace, &rbacv1.RoleBindingList{}
		if there {
			want += "," + other
		}
		if err := w.List(ctx, bindings, client.InNamespace(other), client.MatchingLabels{"olm.copiedFrom": w.Namespace}); err != nil {
			return err
		}
		if got := w.deployment("memcached-operator").Spec.Template.Annotations["olm.targetNamespaces"]; got != want || there != (len(bindings.Items) == 1) {
			return fmt.Errorf("its pods have the namespaces %q, and there are %d bindings", got, len(bindings.Items))
		}
		return nil
	})
}

// A Subscription that needs an approval does not hold another one, and writes nothing. A newer catalog makes a new plan for it.
func TestManualApproval(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	lone := strings.NewReplacer("- {type: olm.gvk.required, value: {group: "+w.group+", version: v1alpha1, kind: None}}\n", "").Replace(w.proxies(r, "None"))
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	shop := w.catalogWith(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n", lone)
	manual, automatic := w.subscribe("shop"), w.subscribe("shop")
	manual.Spec.InstallPlanApproval = v1alpha1.Manual
	automatic.Name, automatic.Spec.Package = "proxy", "proxy"
	w.Add(w.operatorGroup("group"), shop, manual, automatic)
	w.AwaitPhase("proxy.v1.0.0", v1alpha1.PhasePending, "RequirementsNotMet") // its kind is that of the other operator
	w.awaitWaiting(first)

	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	newer := w.catalogWith(r, "newer", bundles, "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n", lone)
	w.Must(w.Patch(t.Context(), shop, client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(`{"spec":{"image":%q}}`, newer.Spec.Image)))))
	plan := w.awaitWaiting(second)
	w.quiet()
	w.sent.mustNotContain(t, "clusterserviceversions/memcached")
	w.sent.mustNotContain(t, "customresourcedefinitions")
	w.approve(plan)
	w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
	w.AwaitPhase("proxy.v1.0.0", v1alpha1.PhaseSucceeded, "")
}

// A plan that was approved and is refused is carried out when the reason is gone, although there is a newer version.
func TestApprovedPlanIsFinished(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached), "0.0.2": w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))}
	shop := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n")
	sub := w.subscribe("shop")
	sub.Spec.InstallPlanApproval, sub.Spec.StartingCSV = v1alpha1.Manual, first
	foreign := &corev1.ConfigMap{ObjectMeta: w.Named("memcached-config")}
	w.Add(w.operatorGroup("group"), foreign, shop, sub)
	plan := w.awaitWaiting(first)
	w.approve(plan)
	w.awaitRefusal(plan, v1alpha1.PlanFailed, installplan.ReasonForeignObject, "ConfigMap memcached-config exists and was not made from a bundle: remove or rename it")
	w.quiet()
	w.sent.mustNotContain(t, "clusterserviceversions/memcached")
	w.sent.mustNotContain(t, "customresourcedefinitions")
	w.Must(w.Delete(t.Context(), foreign))
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitPlan(plan.GetName(), v1alpha1.PlanComplete)
	w.approve(w.awaitWaiting(second))
	w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
}

// awaitWaiting waits until the only plan that waits for approval is one for a version.
func (w *world) awaitWaiting(version string) *v1alpha1.InstallPlan {
	w.Helper()
	var found *v1alpha1.InstallPlan
	localtest.Eventually(w.T, "a plan for "+version+" waits", func(ctx context.Context) error {
		var plans v1alpha1.InstallPlanList
		if err := w.List(ctx, &plans, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		var waiting []v1alpha1.InstallPlan
		for _, one := range plans.Items {
			if one.Status.Phase == v1alpha1.PlanRequiresApproval {
				waiting = append(waiting, one)
			}
		}
		if len(waiting) != 1 || waiting[0].Spec.ClusterServiceVersionNames[0] != version {
			return fmt.Errorf("there are %+v", waiting)
		}
		found = &waiting[0]
		return nil
	})
	return found
}
