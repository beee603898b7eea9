package watches_test

import (
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// metadata reads the metadata of a ConfigMap.
func (b *bench) metadata(s *watches.Session, name string) bool {
	b.Helper()
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	object.SetGroupVersionKind(configKind)
	found, err := s.Get(b.Context(), object)
	if err != nil {
		b.Fatal(err)
	}
	if found && object.ResourceVersion == "" {
		b.Fatalf("the metadata is %v", object)
	}
	return found
}

// Many objects whose metadata is read by name share a watch, and each change triggers only the readers of the object.
func TestManyReadsByNameShareAWatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for i := range 50 {
		b.api.put("default", fmt.Sprintf("a%d", 2*i), nil)
	}
	s := b.session()
	for i := range 100 {
		name := fmt.Sprintf("a%d", i)
		if found := b.metadata(s, name); found != (i%2 == 0) {
			t.Fatalf("%s is found: %t", name, found)
		}
	}
	b.end(s)
	if got, want := b.Watches(), 32+1; got != want {
		t.Errorf("%d watches are open, want %d", got, want)
	}
	b.api.put("default", "unread", nil)
	b.api.put("elsewhere", "a98", nil)
	b.api.put("default", "a98", map[string]string{"new": "yes"})
	b.triggered(trigger.ReadChanged, "a98")
	b.api.put("default", "a99", nil)
	b.triggered(trigger.ReadAppeared, "a99")
	b.api.remove("default", "a98")
	b.triggered(trigger.ReadGone, "a98")

	s = b.session()
	if b.metadata(s, "a98") || !b.metadata(s, "a99") {
		t.Error("the reads do not show the changes")
	}
	b.end(s)
	if got := b.Watches(); got != 1 {
		t.Errorf("%d watches are open, want 1", got)
	}
	b.end(b.session())
	if got := b.Watches(); got != 0 {
		t.Errorf("%d watches are open, want none", got)
	}
}

// A kind with many more objects than are read is watched by name.
func TestReadsByNameOfAKindWithManyObjects(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for i := range 2000 {
		b.api.put("default", fmt.Sprintf("a%d", i), nil)
	}
	s := b.session()
	for i := range 100 {
		b.metadata(s, fmt.Sprintf("a%d", i))
	}
	b.end(s)
	if got, want := b.Watches(), 64+1; got != want { // from 64 watches on, they would take more memory than 2,000 objects
		t.Errorf("%d watches are open, want %d", got, want)
	}
}

// An operator that loses the permission to watch all objects of a kind goes on with watches by name.
func TestReadsByNameWithoutPermissionForAll(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.api.refuseAll("configmaps", http.StatusForbidden)
	s := b.session()
	for i := range 40 {
		b.metadata(s, fmt.Sprintf("a%d", i))
	}
	b.end(s)
	if got := b.Watches(); got != 40 {
		t.Errorf("%d watches are open, want 40", got)
	}
	b.api.refuseAll("configmaps", 0)
	s = b.session()
	for i := range 70 { // the number of objects is looked up again
		b.metadata(s, fmt.Sprintf("a%d", i))
	}
	b.end(s)
	if got, want := b.Watches(), 64+1; got != want {
		t.Errorf("%d watches are open, want %d", got, want)
	}
	b.api.refuseAll("configmaps", http.StatusForbidden)
	b.triggered(trigger.ReadGone, "")
	s = b.session()
	b.metadata(s, "a69")
	b.end(s)
	if got := b.Watches(); got != 1 {
		t.Errorf("%d watches are open, want 1", got)
	}
}
