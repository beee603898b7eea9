package workload_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/workload"
)

const plant = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plants.test.dev}
spec:
  group: test.dev
  scope: Namespaced
  names: {kind: Plant, plural: plants}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1, maximum: 5}
              kind: {type: string, enum: [oak, elm]}
              paused: {type: boolean}
              water:
                type: object
                properties:
                  liters: {type: integer, minimum: 1}
                  hour: {type: integer, minimum: 1}
`

const oak = "{apiVersion: test.dev/v1, kind: Plant, metadata: {name: a}, spec: {size: 1, kind: oak, paused: false, water: {liters: 1, hour: 2}}}"

// The first workload gives several fields other values, and a later one removes them. What may stop the operator is not among them.
func TestFieldsAreChangedTogether(t *testing.T) {
	t.Parallel()
	crds, sample := object(t, plant), object(t, oak)
	all, err := workload.Operations([]*unstructured.Unstructured{sample}, []*unstructured.Unstructured{crds}, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changed := all[0].Steps[1]
	spec, _ := changed.Apply[0].Object["spec"].(map[string]any)
	water, _ := spec["water"].(map[string]any)
	if !changed.Fresh || spec["size"] == int64(1) || spec["kind"] != "elm" || spec["paused"] != false || water["liters"] == int64(1) || water["hour"] == int64(2) {
		t.Errorf("%s: %v", changed.Name, spec)
	}
	if back := all[0].Steps[2]; back.Same != "create" {
		t.Errorf("the change is not reverted: %+v", back)
	}
	removed := all[1].Steps[1]
	if spec, _ := removed.Apply[0].Object["spec"].(map[string]any); !strings.HasSuffix(removed.Name, " removed") || spec["size"] != nil || spec["kind"] != nil {
		t.Errorf("%s: %v", removed.Name, spec)
	}
	for _, w := range all {
		if err := w.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// Halving ends with the one field that matters.
func TestChangedFieldsAreHalved(t *testing.T) {
	t.Parallel()
	all, err := workload.Operations([]*unstructured.Unstructured{object(t, oak)}, []*unstructured.Unstructured{object(t, plant)}, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := all[0]
	rounds := 0
	for ; ; rounds++ {
		halves := workload.Halves(w)
		if len(halves) == 0 {
			break
		}
		at := slices.IndexFunc(halves, func(half workload.Workload) bool {
			spec, _ := half.Steps[1].Apply[0].Object["spec"].(map[string]any)
			return spec["kind"] == "elm"
		})
		if at < 0 || rounds > 5 {
			t.Fatalf("no half of %q has the change", w.Steps[1].Name)
		}
		w = halves[at]
	}
	if rounds == 0 || w.Steps[1].Name != "spec.kind changed" {
		t.Errorf("%d rounds, the last one: %s", rounds, w.Steps[1].Name)
	}
}
