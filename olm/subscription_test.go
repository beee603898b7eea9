package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	v2 "github.com/operon-framework/operon/internal/olm/api/v2"
	"github.com/operon-framework/operon/internal/testing/registrytest"
)

// subscribe returns a Subscription for memcached.
func (w *world) subscribe(catalog string) *v1alpha1.Subscription {
	return &v1alpha1.Subscription{ObjectMeta: w.Named("memcached"), Spec: v1alpha1.SubscriptionSpec{
		CatalogSource: catalog, CatalogSourceNamespace: w.Namespace, Package: "memcached",
	}}
}

// A Subscription installs the head of the default channel, and upgrades when the catalog has a newer version: the Deployment stays, and the
// older version goes.
func TestSubscription(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	source := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n")
	sub := w.subscribe("shop")
	w.Add(w.operatorGroup("group"), source, sub)
	first := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	w.awaitState("memcached-operator.v0.0.1 AtLatestKnown")
	before := w.deployment("memcached-operator")
	reader := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-reader"}}
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(reader), reader))
	created := reader.UID
	w.quiet()

	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	newer := w.catalog(r, "newer", bundles, "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n")
	w.Must(w.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(`{"spec":{"image":%q}}`, newer.Spec.Image)))))
	w.AwaitPhase("memcached-operator.v0.0.2", v1alpha1.PhaseSucceeded, "")
	w.AwaitGone(first)
	w.awaitState("memcached-operator.v0.0.2 AtLatestKnown")
	if now := w.deployment("memcached-operator"); now.UID != before.UID || now.Spec.Template.Spec.Containers[0].Image != "memcached-operator:0.0.2" {
		t.Errorf("the Deployment is %s with the image %s", now.UID, now.Spec.Template.Spec.Containers[0].Image)
	}
	w.quiet()
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(reader), reader))
	if reader.UID != created {
		t.Error("the ClusterRole of the bundle was created again")
	}
	if owner := reader.Labels["olm.owner"]; owner != "memcached-operator.v0.0.2" {
		t.Errorf("the ClusterRole of the bundle belongs to %s", owner)
	}

	w.Must(w.Delete(t.Context(), sub))
	w.AwaitGone(sub)
	w.deployment("memcached-operator") // the operator stays
	second := &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named("memcached-operator.v0.0.2")}
	w.Must(w.Delete(t.Context(), second))
	w.AwaitGone(second)
	w.AwaitGone(reader)
}

// A version that skips the installed one replaces it at once, whatever the bundle says in replaces. The changes of the Subscription stay through
// the upgrade and the deletion of the Subscription: the Deployment only changes with the version.
func TestUpgradeBySkips(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	source := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n")
	sub := w.subscribe("shop")
	sub.Spec.Config = &v1alpha1.SubscriptionConfig{Env: []corev1.EnvVar{{Name: "LOG", Value: "debug"}}}
	w.Add(w.operatorGroup("group"), source, sub)
	first := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	w.awaitState("memcached-operator.v0.0.1 AtLatestKnown")
	w.quiet()
	before := w.deployment("memcached-operator")

	bundles["0.0.3"] = w.bundle(r, "0.0.3", version("0.0.3", "0.0.2"))
	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	newer := w.catalog(r, "newer", bundles, "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n"+
		"- {name: memcached-operator.v0.0.3, replaces: memcached-operator.v0.0.2, skips: [memcached-operator.v0.0.1]}\n")
	w.Must(w.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(`{"spec":{"image":%q}}`, newer.Spec.Image)))))
	third := w.AwaitPhase("memcached-operator.v0.0.3", v1alpha1.PhaseSucceeded, "")
	if third.Spec.Replaces != "memcached-operator.v0.0.1" {
		t.Errorf("the version replaces %s", third.Spec.Replaces)
	}
	w.AwaitGone(first)
	w.awaitState("memcached-operator.v0.0.3 AtLatestKnown")
	w.quiet()
	w.Must(w.Delete(t.Context(), sub))
	w.AwaitGone(sub)
	w.quiet()
	var events corev1.EventList
	w.Must(w.List(t.Context(), &events, client.InNamespace(w.Namespace)))
	for _, event := range events.Items {
		if event.Reason == "Conflict" { // a plan waits until the version before releases an object
			t.Errorf("%s %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Message)
		}
	}
	now := w.deployment("memcached-operator")
	const revision = "deployment.kubernetes.io/revision" // counts the changes of the pods
	if now.UID != before.UID || before.Annotations[revision] != "1" || now.Annotations[revision] != "2" {
		t.Errorf("the Deployment is %s with %v, it was %s with %v", now.UID, now.Annotations, before.UID, before.Annotations)
	}
	if env := now.Spec.Template.Spec.Containers[0].Env; !slices.Contains(env, corev1.EnvVar{Name: "LOG", Value: "debug"}) {
		t.Errorf("the environment is %+v", env)
	}
}

// An upgrade that the installed version holds back leaves that version as it is, and the Subscription shows the upgrade.
func TestUpgradeThatIsHeld(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	source := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n")
	sub := w.subscribe("shop")
	sub.Spec.Config = &v1alpha1.SubscriptionConfig{Env: []corev1.EnvVar{{Name: "LOG", Value: "debug"}}}
	w.Add(w.operatorGroup("group"), source, sub)
	first := w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	w.awaitState("memcached-operator.v0.0.1 AtLatestKnown")
	w.Must(w.Patch(t.Context(), &v2.OperatorCondition{ObjectMeta: w.Named(first.Name)}, client.RawPatch("application/merge-patch+json", []byte(
		`{"spec":{"conditions":[{"type":"Upgradeable","status":"False","reason":"Busy","message":"busy","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`))))
	w.quiet()
	before := w.deployment("memcached-operator")
	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	newer := w.catalog(r, "newer", bundles, "- {name: memcached-operator.v0.0.1}\n- {name: memcached-operator.v0.0.2, replaces: memcached-operator.v0.0.1}\n")
	w.Must(w.Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(`{"spec":{"image":%q}}`, newer.Spec.Image)))))
	w.AwaitPhase("memcached-operator.v0.0.2", v1alpha1.PhasePending, "OperatorConditionNotUpgradeable")
	w.quiet()
	w.awaitState("memcached-operator.v0.0.1 UpgradePending")
	if now := w.deployment("memcached-operator"); now.Generation != before.Generation {
		t.Errorf("the Deployment changed to %+v", now.Spec)
	}
	var plans v1alpha1.InstallPlanList
	w.Must(w.List(t.Context(), &plans, client.InNamespace(w.Namespace)))
	if len(plans.Items) != 2 { // the permissions of the second version come from its plan
		t.Errorf("the plans are %+v, want one for each version", plans.Items)
	}
	w.losesItsPlan(sub, before)
}

// losesItsPlan checks that an upgrade whose plan is deleted gets another one from its Subscription, and ends without: the installed version stays
// as it is, whatever happens, until there is a Subscription again.
func (w *world) losesItsPlan(sub *v1alpha1.Subscription, before *appsv1.Deployment) {
	w.Helper()
	plan := w.planOf(second)
	w.patch(sub, `{"metadata":{"annotations":{"operon.dev/paused":"true"}}}`)
	w.quiet() // until the manager knows that the Subscription is paused
	w.Must(w.Delete(w.Context(), plan))
	w.AwaitGone(plan)
	w.patch(sub, `{"metadata":{"annotations":{"operon.dev/paused":null}}}`)
	plan = w.planOf(second)
	w.awaitState(first + " UpgradePending")
	w.AwaitPhase(second, v1alpha1.PhasePending, "OperatorConditionNotUpgradeable")

	w.Must(w.Delete(w.Context(), sub))
	w.AwaitGone(sub)
	w.AwaitGone(plan)
	w.upgradeable(first, metav1.ConditionTrue)
	const lost = "waiting for an InstallPlan, because that of " + second + " was deleted"
	waits := func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.Phase == v1alpha1.PhasePending && strings.HasPrefix(csv.Status.Message, lost)
	}
	w.Await(second, "waits for a plan", waits)
	w.quiet()
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.denies.Store(true) // the installed version steps back because it lacks something, but the other one must not work with its permissions
	w.patch(&v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(first)}, `{"metadata":{"labels":{"looked":"again"}}}`)
	w.AwaitPhase(first, v1alpha1.PhaseReplacing, "")
	w.AwaitPhase(second, v1alpha1.PhasePending, "RequirementsNotMet")
	w.denies.Store(false)
	w.Await(second, "waits for a plan", waits)
	w.quiet()
	w.AwaitPhase(first, v1alpha1.PhaseReplacing, "")
	if now := w.deployment(before.Name); now.Generation != before.Generation {
		w.Errorf("the Deployment changed to %+v", now.Spec)
	}

	next := &v1alpha1.ClusterServiceVersion{ObjectMeta: w.Named(second)}
	w.Must(w.Delete(w.Context(), next))
	w.AwaitGone(next)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.Add(w.subscribe("shop"))
	w.awaitState(second + " AtLatestKnown")
}

// planOf waits until there is an InstallPlan for a version.
func (w *world) planOf(version string) (found *v1alpha1.InstallPlan) {
	w.Helper()
	localtest.Eventually(w.T, "an InstallPlan for "+version, func(ctx context.Context) error {
		var plans v1alpha1.InstallPlanList
		if err := w.List(ctx, &plans, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		for i := range plans.Items {
			if found = &plans.Items[i]; slices.Contains(found.Spec.ClusterServiceVersionNames, version) {
				return nil
			}
		}
		return fmt.Errorf("there are %+v", plans.Items)
	})
	return found
}

// A plan that is refused stays although the status of its Subscription was lost.
func TestPlanOfALostStatus(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	foreign := &corev1.ConfigMap{ObjectMeta: w.Named("memcached-config")}
	sub := w.subscribe("shop")
	w.Add(foreign, w.operatorGroup("group"), w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n"), sub)
	localtest.Eventually(t, "the plan is refused", func(ctx context.Context) error {
		var plans v1alpha1.InstallPlanList
		if err := w.List(ctx, &plans, client.InNamespace(w.Namespace)); err != nil || len(plans.Items) != 1 || plans.Items[0].Status.Phase != v1alpha1.PlanFailed {
			return fmt.Errorf("there are %+v, error %w", plans.Items, err)
		}
		return nil
	})
	w.quiet()
	w.sent.mustNotContain(t, "clusterserviceversions/memcached") // nothing of a refused plan is written
	w.Must(w.Status().Patch(t.Context(), sub, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"currentCSV":null,"installedCSV":null,"installPlanRef":null}}`))))
	w.quiet()
	w.Must(w.Delete(t.Context(), foreign))
	w.AwaitPhase("memcached-operator.v0.0.1", v1alpha1.PhaseSucceeded, "")
	w.awaitState("memcached-operator.v0.0.1 AtLatestKnown")
}

// awaitState waits until the Subscription has installed a version and has a state.
func (w *world) awaitState(want string) {
	w.Helper()
	w.eventually("the Subscription is "+want, func(ctx context.Context) error {
		sub := &v1alpha1.Subscription{}
		if err := w.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "memcached"}, sub); err != nil {
			return err
		}
		if got := sub.Status.InstalledCSV + " " + sub.Status.State; got != want {
			return fmt.Errorf("it is %s: %+v, \n%s", got, sub.Status, w.others(ctx))
		}
		return nil
	})
}

// others describes the InstallPlans and versions of the namespace.
func (w *world) others(ctx context.Context) string {
	var plans v1alpha1.InstallPlanList
	var csvs v1alpha1.ClusterServiceVersionList
	if err := errors.Join(w.List(ctx, &plans, client.InNamespace(w.Namespace)), w.List(ctx, &csvs, client.InNamespace(w.Namespace))); err != nil {
		return err.Error()
	}
	var all []string
	for _, one := range plans.Items {
		all = append(all, fmt.Sprintf("InstallPlan %s for %v: %s %+v", one.Name, one.Spec.ClusterServiceVersionNames, one.Status.Phase, one.Status.Report.Conditions))
	}
	for _, one := range csvs.Items {
		all = append(all, fmt.Sprintf("%s: deleted %v, %s %s %s %+v", one.Name, one.DeletionTimestamp, one.Status.Phase, one.Status.Reason, one.Status.Message, one.Status.Report.Conditions))
	}
	return strings.Join(all, "\n")
}

// A version that somebody deletes is installed again while its Subscription exists.
func TestDeletedVersionIsInstalledAgain(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	bundles := map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}
	source, sub := w.catalog(r, "shop", bundles, "- {name: memcached-operator.v0.0.1}\n"), w.subscribe("shop")
	w.Add(w.operatorGroup("group"), source, sub)
	deleted := w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " AtLatestKnown")
	w.Must(w.Delete(t.Context(), deleted))
	again := w.Await(first, "is another one", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.UID != deleted.UID && csv.Status.Phase == v1alpha1.PhaseSucceeded && csv.Status.PermissionsDigest != ""
	})
	w.awaitState(first + " AtLatestKnown")
	w.awaitReader(again, first)

	bundles["0.0.2"] = w.bundle(r, "0.0.2", version("0.0.2", "0.0.1"))
	w.offer(source, w.catalog(r, "newer", bundles, bothVersions))
	deleted = w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
	w.awaitState(second + " AtLatestKnown")
	w.AwaitGone(again)
	w.Must(w.Delete(t.Context(), deleted))
	w.Await(second, "is another one", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.UID != deleted.UID && csv.Status.Phase == v1alpha1.PhaseSucceeded
	})
	w.awaitState(second + " AtLatestKnown")
	w.quiet()
}
