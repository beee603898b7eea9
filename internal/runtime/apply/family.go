package apply

import (
	"slices"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
)

// Family remembers the children that one object was observed to have. This distinguishes a child that another client deleted
// from one that never existed. The zero value is empty. It is not safe for concurrent use.
type Family struct{ members []member }

// member is a child in a compact form, because one exists for each child.
type member struct {
	kind            unique.Handle[schema.GroupVersionKind]
	namespace, name string
}

func (m member) id() plan.ID {
	return plan.ID{GroupKind: m.kind.Value().GroupKind(), Namespace: m.namespace, Name: m.name}
}

// Knows reports whether a child existed before.
func (f *Family) Knows(id plan.ID) bool { return f.find(id) >= 0 }

func (f *Family) find(id plan.ID) int {
	return slices.IndexFunc(f.members, func(m member) bool { return m.id() == id })
}

// Kinds returns the kinds of the children that existed before.
func (f *Family) Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, m := range f.members {
		if kind := m.kind.Value(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// Saw remembers that a child exists.
func (f *Family) Saw(child *plan.Live) {
	if !f.Knows(child.ID()) {
		f.members = append(f.members, member{unique.Make(child.Kind), child.Namespace, child.Name})
	}
}

// Unsee forgets a child that was removed on purpose.
func (f *Family) Unsee(id plan.ID) {
	if i := f.find(id); i >= 0 {
		f.members = slices.Delete(f.members, i, i+1)
	}
}

// Children returns the children that existed before.
func (f *Family) Children() []plan.ID {
	var ids []plan.ID
	for _, m := range f.members {
		ids = append(ids, m.id())
	}
	return ids
}
