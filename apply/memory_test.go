package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/plan"
)

func object(uid, version string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	o.SetName("web")
	o.SetUID(types.UID(uid))
	o.SetResourceVersion(version)
	return o
}

func TestNewest(t *testing.T) {
	t.Parallel()
	wrote := func(o *unstructured.Unstructured) func(*Memory) {
		return func(m *Memory) { m.wrote(o, o, "us") }
	}
	deleted := func(o *unstructured.Unstructured) func(*Memory) {
		return func(m *Memory) { m.deleted(o) }
	}
	old, written, later, another := object("a", "9"), object("a", "10"), object("a", "11"), object("b", "8")
	tests := []struct {
		name   string
		before func(*Memory)
		cached *unstructured.Unstructured
		want   *unstructured.Unstructured
	}{
		{"nothing written", func(*Memory) {}, old, old},
		{"the cache lags behind an update", wrote(written), old, written},
		{"the cache lags behind a creation", wrote(written), nil, written},
		{"the cache caught up", wrote(written), written, written},
		{"the cache is ahead", wrote(written), later, later},
		{"another object took the place", wrote(written), another, another},
		{"the cache lags behind a deletion", deleted(written), old, nil},
		{"deleted and made again by somebody", deleted(written), another, another},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			test.before(m)
			if got := m.Newest(plan.Of(old), test.cached); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestADeletionThatWasSeenEndsTheMemory(t *testing.T) {
	t.Parallel()
	m := newMemory()
	written := object("a", "10")
	m.wrote(written, written, "us")
	m.Gone(written)
	if got := m.Newest(plan.Of(written), nil); got != nil {
		t.Errorf("got %v of an object that is gone", got)
	}
}

func TestNormalizedFieldsBelongToOneComposition(t *testing.T) {
	t.Parallel()
	m := newMemory()
	applied := object("a", "")
	applied.SetAnnotations(map[string]string{plan.HashAnnotation: "h1"})
	applied.Object["stringData"] = map[string]any{"a": "1"}
	stored := object("a", "10")
	stored.SetAnnotations(applied.GetAnnotations())
	m.wrote(applied, stored, "us")
	id := plan.Of(applied)
	if !m.Normalized(id, "h1", "stringData") {
		t.Error("what the server stores otherwise is not remembered")
	}
	if m.Normalized(id, "h2", "stringData") || m.Normalized(id, "h1", "data") {
		t.Error("more is remembered than was found")
	}
}
