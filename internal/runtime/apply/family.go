package apply

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/plan"
)

// Family remembers which children the objects of one kind were seen to have, so that one
// that was deleted by somebody is told from one that never was.
type Family struct {
	mu      sync.Mutex
	members map[types.NamespacedName][]member
	kinds   map[schema.GroupVersionKind]*schema.GroupVersionKind
}

// member is a child, in little space: there is one for each that exists.
type member struct {
	kind            *schema.GroupVersionKind
	namespace, name string
}

func (m member) id() plan.ID {
	return plan.ID{GroupKind: m.kind.GroupKind(), Namespace: m.namespace, Name: m.name}
}

// Knows tells whether a child of owner was there before.
func (f *Family) Knows(owner types.NamespacedName, id plan.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.find(owner, id) >= 0
}

func (f *Family) find(owner types.NamespacedName, id plan.ID) int {
	return slices.IndexFunc(f.members[owner], func(m member) bool { return m.id() == id })
}

// Kinds returns the kinds of the children of owner that were there before.
func (f *Family) Kinds(owner types.NamespacedName) []schema.GroupVersionKind {
	f.mu.Lock()
	defer f.mu.Unlock()
	var kinds []schema.GroupVersionKind
	for _, m := range f.members[owner] {
		if !slices.Contains(kinds, *m.kind) {
			kinds = append(kinds, *m.kind)
		}
	}
	return kinds
}

// Saw remembers that a child of owner is there.
func (f *Family) Saw(owner types.NamespacedName, child *plan.Live) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.find(owner, child.ID()) >= 0 {
		return
	}
	if f.members == nil {
		f.members, f.kinds = map[types.NamespacedName][]member{}, map[schema.GroupVersionKind]*schema.GroupVersionKind{}
	}
	if f.kinds[child.Kind] == nil {
		f.kinds[child.Kind] = new(child.Kind)
	}
	f.members[owner] = append(f.members[owner], member{f.kinds[child.Kind], child.Namespace, child.Name})
}

// Unsee forgets a child that was removed on purpose.
func (f *Family) Unsee(owner types.NamespacedName, id plan.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := f.find(owner, id); i >= 0 {
		f.members[owner] = slices.Delete(f.members[owner], i, i+1)
	}
}

// Children returns the children of owner that were there before.
func (f *Family) Children(owner types.NamespacedName) []plan.ID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.children(owner)
}

func (f *Family) children(owner types.NamespacedName) []plan.ID {
	var ids []plan.ID
	for _, m := range f.members[owner] {
		ids = append(ids, m.id())
	}
	return ids
}

// Forget drops the children of an owner that is gone, and returns them.
func (f *Family) Forget(owner types.NamespacedName) []plan.ID {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := f.children(owner)
	delete(f.members, owner)
	return ids
}
