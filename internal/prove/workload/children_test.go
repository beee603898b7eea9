package workload_test

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/prove/workload"
)

// The workloads and bystanders for the children of a run are the expected ones in a
// file.
func TestChildren(t *testing.T) {
	t.Parallel()
	children := read(t, "testdata/children/children.yaml")
	given := projects["memcached"]
	sample := workload.Sample(read(t, given.samples), read(t, given.crds))
	drift := workload.WithDrift(sample, children)
	beside := workload.WithBystanders(sample, workload.Bystanders(children))
	all := append([]workload.Workload{drift, beside}, workload.Failing(sample, children)...)
	var text strings.Builder
	for _, w := range all {
		if err := w.Validate(); err != nil {
			t.Error(err)
		}
		text.WriteString(written(w))
	}
	for _, object := range beside.Steps[0].Apply {
		if !workload.IsBystander(object) {
			t.Errorf("%s is not known as a bystander", object.GetName())
		}
		text.WriteString("---\n" + string(must(yaml.Marshal(object.Object))))
	}
	compare(t, filepath.Join("testdata", "children", "workloads.txt"), text.String())
}

// Claims wait from the beginning, regardless of the controller that creates them.
func TestFailingClaims(t *testing.T) {
	t.Parallel()
	w := steps(workload.Step{Name: "create", Apply: []*unstructured.Unstructured{object(t, web)}})
	want := "unbound-volume\n    fail: unbound-volume: fail unbound-volume\n    create, without volumes: +a\n    heal: heal\n    create, with volumes: +a fresh\n"
	for _, child := range []string{
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}}",
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: d}, spec: {volumeClaimTemplates: [{metadata: {name: v}}]}}",
	} {
		all := workload.Failing(w, []*unstructured.Unstructured{object(t, child)})
		last := all[len(all)-1]
		if got := written(last); got != want || last.Validate() != nil {
			t.Errorf("%s: %s, %v", child, got, last.Validate())
		}
	}
}

func TestNoChildren(t *testing.T) {
	t.Parallel()
	w := steps(workload.Step{Name: "create", Apply: []*unstructured.Unstructured{object(t, web)}})
	if got := workload.WithDrift(w, nil); len(got.Steps) != 1 {
		t.Errorf("drift: %s", written(got))
	}
	if got := workload.WithBystanders(w, workload.Bystanders(nil)); len(got.Steps) != 1 {
		t.Errorf("bystanders: %s", written(got))
	}
	for _, child := range []string{
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 0}}",
		"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}, status: {desiredNumberScheduled: 0}}",
	} {
		if got := workload.Failing(w, []*unstructured.Unstructured{object(t, child)}); len(got) != 0 {
			t.Errorf("no pods of %s can fail, and there are %d workloads", child, len(got))
		}
	}
	if got := workload.Failing(w, nil); len(got) != 0 {
		t.Errorf("failing: %v", got)
	}
	if got := workload.Failing(w, []*unstructured.Unstructured{object(t, "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d}}")}); len(got) != 4 || written(got[2]) != "image-pull\n    create: +a\n    fail: image-pull: fail image-pull\n    heal: heal =create\n" {
		t.Errorf("failing: %v", got)
	}
	if got := workload.WithDrift(workload.Workload{}, read(t, "testdata/children/children.yaml")); len(got.Steps) != 0 {
		t.Errorf("drift of nothing: %s", written(got))
	}
}
