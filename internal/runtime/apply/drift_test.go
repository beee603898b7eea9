package apply_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// drifts are changes of the rich samples: the patch of another client, and the field that is named when it is repaired.
var drifts = []struct {
	name, sample, patch, field string
	kind                       types.PatchType
}{
	{"a leaf", "rich-deployment", `{"spec":{"revisionHistoryLimit":5}}`, "spec.revisionHistoryLimit (changed by intruder)", types.MergePatchType},
	{"a zero value", "rich-deployment", `{"spec":{"replicas":1}}`, "spec.replicas (changed by intruder)", types.MergePatchType},
	{"an int or string", "rich-deployment", `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":"50%"}}}}`, "spec.strategy.rollingUpdate.maxSurge", types.MergePatchType},
	{"a quantity in an element", "rich-deployment", `{"spec":{"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"501m"}}}]}}}}`, "spec.template.spec.containers[name=main].resources.requests.cpu", types.StrategicMergePatchType},
	{"a removed element", "rich-deployment", `{"spec":{"template":{"spec":{"volumes":[{"name":"config","$patch":"delete"}],"containers":[{"name":"main","volumeMounts":[{"mountPath":"/config","$patch":"delete"}]}]}}}}`, "spec.template.spec.volumes", types.StrategicMergePatchType},
	{"one of two ports of one number", "rich-service", `[{"op":"replace","path":"/spec/ports/1/targetPort","value":"other"}]`, "spec.ports[port=53,protocol=UDP].targetPort", types.JSONPatchType},
	{"an atomic map", "rich-service", `{"spec":{"selector":{"more":"b"}}}`, "spec.selector", types.MergePatchType},
	{"what was stringData", "rich-secret", `{"data":{"b":"YQ=="}}`, "data.b", types.MergePatchType},
	{"a label", "rich-configmap", `{"metadata":{"labels":{"empty":"no"}}}`, "metadata.labels.empty", types.MergePatchType},
	{"an atomic list", "rich-role", `{"rules":[]}`, "rules", types.MergePatchType},
	{"the owner reference", "rich-lease", `{"metadata":{"ownerReferences":null}}`, "metadata.ownerReferences", types.MergePatchType},
	{"managedFields cleared", "rich-pdb", `{"metadata":{"managedFields":[{}]}}`, "spec.", types.MergePatchType},
	{"an element with a key left to its default", "rich-crate", `[{"op":"remove","path":"/spec/merged/2"}]`, "spec.merged[name=b]", types.JSONPatchType},
	{"an element of a set", "rich-crate", `[{"op":"remove","path":"/spec/tags/0"}]`, "spec.tags[b]", types.JSONPatchType},
	{"a number of a set", "rich-crate", `[{"op":"replace","path":"/spec/numbers","value":[1]}]`, "spec.numbers[3]", types.JSONPatchType},
	{"the order of a list", "rich-crate", `{"spec":{"order":["a","b","b"]}}`, "spec.order", types.MergePatchType},
	{"fields without a schema", "rich-crate", `{"spec":{"free":{"a":{"b":[1]}}}}`, "spec.free.a.b (changed by intruder)", types.MergePatchType},
	{"fields without a schema that go", "rich-crate", `{"spec":{"free":{"a":{"b":null}}}}`, "spec.free.a.b", types.MergePatchType},
	{"a map without a schema that goes", "rich-crate", `{"spec":{"free":{"a":null}}}`, "spec.free.a", types.MergePatchType},
}

func TestDriftOfEverySortIsPutBackOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.InstallCRDs(t, boxtest.File(w, "test/testdata/crates.yaml"))
	samples := w.samples()
	used := map[string]*unstructured.Unstructured{}
	for _, drift := range drifts {
		used[drift.sample] = samples[drift.sample]
	}
	composer := &sampleComposer{samples: used, passes: map[string]int{}}
	requests, _ := w.Run(composer)
	for name := range used {
		w.Box(name, nil)
	}
	w.exist(used)
	w.Quiet(func() []string { return requests.All(false) })
	before := len(requests.All(true))
	for _, drift := range drifts {
		w.renew(composer, drift.sample)
		w.spoil(used[drift.sample], drift.kind, drift.patch)
		w.Event("Repaired", drift.field)
	}
	w.Quiet(func() []string { return requests.All(false) })
	if repairs := boxtest.OfChildren(requests.All(true)[before:]); len(repairs) != len(drifts) {
		t.Errorf("%d changes were put back by %d writes: %q", len(drifts), len(repairs), repairs)
	}
}

// renew changes the version of a sample's owner. Otherwise, events about one version with the same reason would become a
// series with the note of the first event.
func (w *fixture) renew(composer *sampleComposer, name string) {
	w.Helper()
	b := &boxtest.Box{}
	b.Name, b.Namespace = name, w.Namespace
	w.Poke(b)
	w.Eventually("a reconcile of "+name, func(context.Context) error { return composer.sees(b) })
}

// sees reports whether a Box was composed after it was last poked.
func (c *sampleComposer) sees(b *boxtest.Box) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen := c.poked[b.Name]; seen != b.Annotations["poke"] {
		return fmt.Errorf("it was composed as of %q, want %q", seen, b.Annotations["poke"])
	}
	return nil
}

// spoil patches a sample as another client, and waits for the repair before the next change.
func (w *fixture) spoil(sample *unstructured.Unstructured, kind types.PatchType, patch string) {
	w.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(sample.GroupVersionKind())
	live.SetName(sample.GetName())
	live.SetNamespace(w.Namespace)
	w.Must(w.Client.Patch(w.Context(), live, client.RawPatch(kind, []byte(patch)), client.FieldOwner("intruder")))
	spoilt := live.GetResourceVersion()
	w.Eventually(fmt.Sprintf("a repair of %s after %s", sample.GetName(), patch), func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return err
		}
		for _, entry := range live.GetManagedFields() {
			if entry.Manager == "box-operator" && live.GetResourceVersion() != spoilt {
				return nil
			}
		}
		return fmt.Errorf("managed by %v", live.GetManagedFields())
	})
}
