package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// What tools of OLM read is written: the conditions about deprecations, the state of an upgrade that is not possible, the generation of plans,
// the states of steps, and the labels of components.
func TestStatusForTools(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	source := w.catalogWith(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n", `---
schema: olm.deprecations
package: memcached
entries:
- {reference: {schema: olm.package}, message: use till}
- {reference: {schema: olm.channel, name: stable}, message: use fast}
- {reference: {schema: olm.bundle, name: memcached-operator.v0.0.1}, message: 0.0.1 is old}
`)
	sub := w.subscribe("shop")
	sub.Spec.Channel = "stable"
	w.Add(w.operatorGroup("group"), source, sub)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " AtLatestKnown")
	w.awaitDeprecations(sub, "Deprecated=bundle memcached-operator.v0.0.1 is deprecated: 0.0.1 is old; channel stable of package memcached is deprecated: use fast; package memcached is deprecated: use till",
		"PackageDeprecated=use till", "ChannelDeprecated=use fast", "BundleDeprecated=0.0.1 is old")
	w.patch(sub, `{"spec":{"channel":null}}`)
	w.awaitDeprecations(sub, "Deprecated=bundle memcached-operator.v0.0.1 is deprecated: 0.0.1 is old; package memcached is deprecated: use till",
		"PackageDeprecated=use till", "BundleDeprecated=0.0.1 is old")
	w.component(1)
	w.quiet()

	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	content := w.content(bundles, bothVersions)
	needy := strings.Replace(content, "version: 0.0.2}}\n", "version: 0.0.2}}\n- {type: olm.gvk.required, value: {group: "+w.group+", version: v1, kind: None}}\n", 1)
	if needy == content {
		t.Fatalf("the catalog is %s", content)
	}
	old := "---\n{schema: olm.deprecations, package: memcached, entries: [{reference: {schema: olm.bundle, name: memcached-operator.v0.0.1}, message: still old}]}\n"
	w.patch(source, fmt.Sprintf(`{"spec":{"image":%q}}`, r.Push("needy:1", map[string]string{"configs/memcached/catalog.yaml": needy + old})))
	w.awaitState(first + " UpgradeAvailable")
	w.awaitDeprecations(sub, "Deprecated=bundle memcached-operator.v0.0.1 is deprecated: still old", "BundleDeprecated=still old")

	w.patch(source, fmt.Sprintf(`{"spec":{"image":%q}}`, r.Push("plain:1", map[string]string{"configs/memcached/catalog.yaml": content + old})))
	w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
	w.awaitState(second + " AtLatestKnown")
	w.awaitDeprecations(sub)
	plan := w.component(2)
	for _, step := range plan.Status.Plan {
		want := v1alpha1.StepPresent
		if step.Resource.Kind == "ClusterServiceVersion" {
			want = v1alpha1.StepCreated
		}
		if step.Status != want {
			t.Errorf("the step for %s %s is %s, want %s", step.Resource.Kind, step.Resource.Name, step.Status, want)
		}
	}
	w.quiet()
}

// awaitDeprecations waits until the Subscription has conditions about deprecations with their messages, and no others.
func (w *world) awaitDeprecations(sub *v1alpha1.Subscription, want ...string) {
	w.Helper()
	localtest.Eventually(w.T, fmt.Sprintf("the deprecations are %q", want), func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(sub), sub); err != nil {
			return err
		}
		var all []string
		for _, kind := range []string{"Deprecated", "PackageDeprecated", "ChannelDeprecated", "BundleDeprecated"} {
			if found := meta.FindStatusCondition(sub.Status.Problems, kind); found != nil && found.Status == metav1.ConditionTrue {
				all = append(all, kind+"="+found.Message)
			}
		}
		if strings.Join(all, "\n") != strings.Join(want, "\n") {
			return fmt.Errorf("the conditions are %+v", sub.Status.Problems)
		}
		return nil
	})
}

// component checks the generation of the plan of the Subscription, and that tools find all objects of the operator by its label.
func (w *world) component(generation int) *v1alpha1.InstallPlan {
	w.Helper()
	sub, plan := &v1alpha1.Subscription{}, &v1alpha1.InstallPlan{}
	localtest.Eventually(w.T, "the plan of the Subscription", func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "memcached"}, sub); err != nil {
			return err
		}
		if sub.Status.InstallPlan == nil || sub.Status.InstallPlan.UID == "" || sub.Status.InstallPlanGeneration != generation {
			return fmt.Errorf("its status is %+v", sub.Status)
		}
		return nil
	})
	w.Must(w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: sub.Status.InstallPlan.Name}, plan))
	if plan.UID != sub.Status.InstallPlanRef.UID || plan.UID != sub.Status.InstallPlan.UID || plan.Spec.Generation != generation {
		w.Errorf("the plan has the generation %d, and the status of the Subscription is %+v", plan.Spec.Generation, sub.Status)
	}
	for _, list := range []client.ObjectList{
		&v1alpha1.ClusterServiceVersionList{}, &v1alpha1.InstallPlanList{}, &corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &rbacv1.RoleList{}, &rbacv1.ClusterRoleList{},
	} {
		w.Must(w.List(w.Context(), list, client.MatchingLabels{"operators.coreos.com/memcached." + w.Namespace: ""}))
		if meta.LenList(list) == 0 {
			w.Errorf("no objects with the label of the component: %T", list)
		}
	}
	if labels := w.deployment("memcached-operator").Spec.Template.Labels; len(labels) != 1 {
		w.Errorf("the pods have the labels %v", labels)
	}
	return plan
}
