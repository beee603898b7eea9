package removal_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/local/localtest"
)

// A deletion of a CustomResourceDefinition that the API server has stopped is resumed by another change of the definition. Another one is not
// touched.
func TestStoppedDeletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	group := f.env.Namespace + ".example.com"
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "tills." + group, "finalizers": []any{"example.com/hold"}},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"kind": "Till", "plural": "tills"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	objects, err := f.Client.Objects(definition)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := objects.Create(t.Context(), definition, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- f.Remove(t.Context(), []*unstructured.Unstructured{stored}) }()
	await := func(what string, reached func(*unstructured.Unstructured) bool) {
		localtest.Eventually(t, what, func(ctx context.Context) error {
			live, err := objects.Get(ctx, stored.GetName(), metav1.GetOptions{})
			if err == nil && !reached(live) {
				err = errors.New("it is not")
			}
			return err
		})
	}
	await("no instances are left", func(live *unstructured.Unstructured) bool {
		return live.GetDeletionTimestamp() != nil && slices.Equal(live.GetFinalizers(), []string{"example.com/hold"})
	})
	failed := `{"status": {"conditions": [{"type": "Terminating", "status": "True", "reason": "InstanceDeletionFailed", "message": "test", "lastTransitionTime": null}]}}`
	if _, err := objects.Patch(t.Context(), stored.GetName(), types.MergePatchType, []byte(failed), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	await("the deletion is resumed", func(live *unstructured.Unstructured) bool { return live.GetAnnotations()[kube.ResumedAnnotation] != "" })
	if _, err := objects.Patch(t.Context(), stored.GetName(), types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := localtest.Receive(t, "the end of the removal", ended); err != nil {
		t.Fatal(err)
	}
}
