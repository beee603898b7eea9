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
		return func(m *Memory) { m.wrote(o) }
	}
	deleted := func(o *unstructured.Unstructured) func(*Memory) {
		return func(m *Memory) { m.deleted(o) }
	}
	released := func(o *unstructured.Unstructured) func(*Memory) {
		return func(m *Memory) { m.released(o) }
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
		{"the cache lags behind a release", released(written), old, nil},
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

func TestWhatWasDeletedIsGoingUntilTheCacheLostIt(t *testing.T) {
	t.Parallel()
	m := newMemory()
	cached := object("a", "10")
	m.deleted(cached)
	got := m.Newest(plan.Of(cached), cached)
	if got == nil || got.GetDeletionTimestamp() == nil {
		t.Errorf("got %v, want an object that is being deleted", got)
	}
	if cached.GetDeletionTimestamp() != nil {
		t.Error("the cached object was changed")
	}
	if got := m.Newest(plan.Of(cached), nil); got != nil {
		t.Errorf("got %v of an object that the cache lost", got)
	}
}

func TestADeletionThatWasSeenEndsTheMemory(t *testing.T) {
	t.Parallel()
	m := newMemory()
	written := object("a", "10")
	m.wrote(written)
	m.Gone(written)
	if got := m.Newest(plan.Of(written), nil); got != nil {
		t.Errorf("got %v of an object that is gone", got)
	}
}
