package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/local/localtest"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
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
	w.AwaitPhase(first, v1alpha1.PhaseSucceeded, "")

	data.Data = w.inConfigMap(memcached, version("0.0.2", "0.0.1"))
	w.Must(w.Update(t.Context(), data))
	w.AwaitPhase(second, v1alpha1.PhaseSucceeded, "")
	w.awaitState(second + " AtLatestKnown")
	w.AwaitGone(old)
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
