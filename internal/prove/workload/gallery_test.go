package workload_test

import (
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/prove/workload"
)

// Each sample of the gallery is valid, and has operations. The sample workload changes a field if any field can be
// changed and reverted.
func TestWorkloadsOfTheGallery(t *testing.T) {
	t.Parallel()
	definitions, err := filepath.Glob("../../../prove/testdata/gallery/config/crd/*.yaml")
	if err != nil || len(definitions) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	var crds []*unstructured.Unstructured
	for _, file := range definitions {
		crds = append(crds, read(t, file)...)
	}
	samples, err := filepath.Glob("../../../prove/testdata/gallery/config/samples/*.yaml")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range samples {
		objects := read(t, file)
		sample := workload.Sample(objects, crds)
		operations, err := workload.Operations(objects, crds, workload.Options{})
		if err != nil || len(operations) < 5 {
			t.Errorf("%s: only %d operations, %v", file, len(operations), err)
		}
		if changeable(operations) != (len(sample.Steps) == 6) {
			t.Errorf("%s: is a field changed that can be, and none that cannot? %s", file, written(sample))
		}
		for _, w := range append(operations, sample) {
			if err := w.Validate(); err != nil {
				t.Error(err)
			}
		}
	}
}

// changeable reports whether one of the operations is a change that is accepted and reverted.
func changeable(operations []workload.Workload) bool {
	return slices.ContainsFunc(operations, func(w workload.Workload) bool {
		return len(w.Steps) == 4 && !w.Steps[1].Refused && w.Steps[1].Same == "" && w.Steps[2].Same == "create"
	})
}
