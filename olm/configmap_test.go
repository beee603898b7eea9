package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/registrytest"
	"github.com/operon-framework/operon/olm/internal/installplan"
)

// A catalog can be in a ConfigMap. It is read again when that changes, and what was read stays while it is not valid.
func TestCatalogInAConfigMap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := &v1alpha1.CatalogSource{ObjectMeta: w.Named("shop"), Spec: v1alpha1.CatalogSourceSpec{SourceType: "internal", ConfigMap: "memcached"}}
	w.Add(w.operatorGroup("group"), source, w.subscribe("shop"))
	w.awaitSource(source, v1alpha1.StateTransientFailure, "ConfigMapError", "spec.configMap: the ConfigMap memcached does not exist in the namespace "+w.Namespace)

	data := &corev1.ConfigMap{ObjectMeta: w.Named("memcached"), Data: w.inConfigMap(memcached)}
	w.Add(data)
	old := w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " AtLatestKnown")
	w.awaitSource(source, v1alpha1.StateReady, "", "")
	if at := source.Status.ConfigMap; at == nil || at.Name != "memcached" || at.ResourceVersion != data.ResourceVersion || source.Status.Packages != 1 {
		t.Errorf("the status is %+v, %+v", source.Status, at)
	}

	data.Data = map[string]string{"packages": "{"}
	w.Must(w.Update(t.Context(), data))
	w.awaitSource(source, v1alpha1.StateTransientFailure, "ConfigMapError", "ConfigMap memcached: data.packages: error converting YAML to JSON: yaml: line 1: did not find expected node content")
	localtest.Eventually(t, "the Subscription works with what was read", func(ctx context.Context) error {
		sub := w.subscribe("shop")
		if err := w.Get(ctx, client.ObjectKeyFromObject(sub), sub); err != nil {
			return err
		}
		health, ready := sub.Status.CatalogHealth, meta.IsStatusConditionTrue(sub.Status.Report.Conditions, condition.Ready)
		if len(health) != 1 || health[0].Healthy || !ready || sub.Status.State != v1alpha1.StateAtLatestKnown {
			return fmt.Errorf("its status is %+v", sub.Status)
		}
		return nil
	})
	w.Must(w.Delete(t.Context(), old))
	old = w.Await(first, "installed again from what was read", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.UID != old.UID && csv.Status.Phase == v1alpha1.PhaseSucceeded
	})
	w.awaitState(first + " AtLatestKnown")

	data.Data = w.inConfigMap(memcached, version("0.0.2", "0.0.1"))
	w.Must(w.Update(t.Context(), data))
	w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
	w.awaitState(second + " AtLatestKnown")
	w.AwaitGone(old)
}

// A bundle without an image is one of the catalog, too: an upgrade to it gets another plan if the first one is deleted, and the version before is restored
// when the upgrade is rolled back. A version that failed and was withdrawn is not forgotten.
func TestUpgradeFromAConfigMap(t *testing.T) {
	t.Parallel()
	w, _, ahead := newFastWorld(t)
	source := &v1alpha1.CatalogSource{ObjectMeta: w.Named("shop"), Spec: v1alpha1.CatalogSourceSpec{SourceType: "configmap", ConfigMap: "memcached"}}
	data, sub := &corev1.ConfigMap{ObjectMeta: w.Named("memcached"), Data: w.inConfigMap(memcached)}, w.subscribe("shop")
	sub.Annotations = map[string]string{v1alpha1.AnnotationRollback: "true"}
	w.Add(w.operatorGroup("group"), data, source, sub)
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitState(first + " AtLatestKnown")
	w.upgradeable(first, metav1.ConditionFalse)
	w.quiet()

	data.Data = w.inConfigMap(memcached, failing(version("0.0.2", "0.0.1")))
	w.Must(w.Update(t.Context(), data))
	w.AwaitPhase(second, v1alpha1.PhasePending, "OperatorConditionNotUpgradeable")
	deleted := w.planOf(second)
	w.patch(sub, `{"metadata":{"annotations":{"operon.dev/paused":"true"}}}`)
	w.quiet() // until the manager knows that the Subscription is paused
	w.Must(w.Delete(t.Context(), deleted))
	w.AwaitGone(deleted)
	w.patch(sub, `{"metadata":{"annotations":{"operon.dev/paused":null}}}`)
	w.planOf(second)
	w.upgradeable(first, metav1.ConditionTrue)
	w.Await(second, "waits for its pods", func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Status.Phase == v1alpha1.PhaseInstalling && strings.HasSuffix(csv.Status.Message, "1 old replicas are pending termination")
	})
	w.AwaitGone(w.timeOut(ahead))
	w.awaitState(first + " UpgradeFailed")
	localtest.Eventually(t, "a plan restores the version before", func(ctx context.Context) error {
		var plans v1alpha1.InstallPlanList
		if err := w.List(ctx, &plans, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		if !slices.ContainsFunc(plans.Items, func(one v1alpha1.InstallPlan) bool {
			return one.Annotations[installplan.AnnotationRestores] == second && one.Status.Phase == v1alpha1.PlanComplete
		}) {
			return fmt.Errorf("the plans are %+v", plans.Items)
		}
		return nil
	})

	data.Data = w.inConfigMap(memcached)
	w.Must(w.Update(t.Context(), data))
	w.awaitSource(source, v1alpha1.StateReady, "", "")
	w.quiet()
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(sub), sub))
	if all := sub.Status.RolledBack; len(all) != 1 || all[0].Name != second {
		t.Errorf("the status has %+v", all)
	}
}

// awaitSource waits until a CatalogSource has a state, a reason and a message.
func (w *world) awaitSource(source *v1alpha1.CatalogSource, state, reason, message string) {
	w.Helper()
	localtest.Eventually(w.T, "the CatalogSource is "+state+" "+reason, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return err
		}
		if got := source.Status; got.ConnectionState == nil || got.ConnectionState.LastObservedState != state || got.Reason != reason || got.Message != message {
			return fmt.Errorf("it is %+v %+v", got.ConnectionState, got)
		}
		return nil
	})
}

// inConfigMap returns the data of a ConfigMap with versions of memcached, the newest last.
func (w *world) inConfigMap(versions ...string) map[string]string {
	w.Helper()
	list := func(objects ...any) string {
		raw, err := json.Marshal(objects)
		w.Must(err)
		text, err := yaml.JSONToYAML(raw)
		w.Must(err)
		return string(text)
	}
	crd := w.definition()
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	var csvs []any
	for _, one := range versions {
		csv := w.csv(one)
		csv.Namespace = ""
		csvs = append(csvs, csv)
	}
	head := csvs[len(csvs)-1].(*v1alpha1.ClusterServiceVersion).Name
	return map[string]string{
		"packages":               list(map[string]any{"packageName": "memcached", "channels": []any{map[string]any{"name": "stable", "currentCSV": head}}}),
		"clusterServiceVersions": list(csvs...), "customResourceDefinitions": list(crd),
	}
}

// An interval that is not a duration holds nothing up, and is reported.
func TestInvalidInterval(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), registrytest.New(t)
	source := w.catalog(r, "shop", map[string]string{"0.0.1": w.bundle(r, "0.0.1", memcached)}, "- {name: memcached-operator.v0.0.1}\n")
	source.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{RegistryPoll: &v1alpha1.RegistryPoll{Interval: "1d"}}
	w.Add(w.operatorGroup("group"), source, w.subscribe("shop"))
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")
	w.awaitSource(source, v1alpha1.StateReady, "InvalidIntervalError",
		`spec.updateStrategy.registryPoll.interval: "1d" is not a duration such as 30m: the catalog is read again every 15m0s`)
}
