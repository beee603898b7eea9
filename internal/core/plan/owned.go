package plan

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// owned is the content of an object's managedFields from the view of one manager.
type owned struct {
	// ours are the fields that the manager applied and that no other manager has changed since.
	ours *fieldpath.Set
	// others are the fields that other managers own, by the managers' names.
	others map[string]*fieldpath.Set
}

// Managed is an entry of managedFields: the fields that a manager owns.
type Managed struct {
	Manager string
	// Applied means that the entry is from server-side apply.
	Applied bool
	// Fields is the set, as Kubernetes writes it in JSON, without the UIDs of owners. The UIDs
	// differ between objects, while the rest is mostly the same.
	Fields string
}

// managedOf returns the entries for fields that can be composed. Entries of the subresource scale
// are included: autoscalers and kubectl write replicas through it.
func managedOf(entries []metav1.ManagedFieldsEntry) []Managed {
	kept := make([]Managed, 0, len(entries))
	for _, entry := range entries {
		if entry.Subresource == "status" || entry.FieldsV1 == nil {
			continue
		}
		kept = append(kept, Managed{
			Manager: shared(entry.Manager),
			Applied: entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "",
			Fields:  shared(withoutOwners(entry.FieldsV1.GetRawString())),
		})
	}
	return slices.Clip(kept)
}

// ownersField is the beginning of the set of owner references.
const ownersField = `"f:ownerReferences":{`

// withoutOwners reduces the owner references in a set to the fact that some exist.
func withoutOwners(fields string) string {
	start := strings.Index(fields, ownersField)
	if start < 0 {
		return fields
	}
	inside := start + len(ownersField)
	return fields[:inside] + fields[closing(fields, inside)-1:]
}

// closing returns the end of the JSON object whose content begins at a position.
func closing(json string, at int) int {
	depth, quoted := 1, false
	for ; at < len(json) && depth > 0; at++ {
		switch c := json[at]; {
		case c == '\\':
			at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
	}
	return at
}

// appliedBy returns the fields that a manager applied.
func (l *Live) appliedBy(manager string) string {
	for _, entry := range l.Managed {
		if entry.Manager == manager && entry.Applied {
			return entry.Fields
		}
	}
	return ""
}

// ownedIn reads which manager owns which fields. An entry that cannot be read belongs to no manager:
// Kubernetes did not write it.
func ownedIn(live *Live, manager string) owned {
	o := owned{ours: &fieldpath.Set{}, others: map[string]*fieldpath.Set{}}
	for _, entry := range live.Managed {
		set := &fieldpath.Set{}
		if err := set.FromJSON(strings.NewReader(entry.Fields)); err != nil {
			continue
		}
		if entry.Manager == manager && entry.Applied {
			o.ours = set
			continue
		}
		o.add(entry.Manager, set)
	}
	return o
}

func (o owned) add(name string, set *fieldpath.Set) {
	if before := o.others[name]; before != nil {
		set = before.Union(set)
	}
	o.others[name] = set
}

// holders returns the other managers that own a field, something in it, or a field that
// contains it.
func (o owned) holders(path fieldpath.Path) string {
	var names []string
	for name, set := range o.others {
		if touches(set, path) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// inside reports whether another manager owns something within a field.
func (o owned) inside(path fieldpath.Path) bool {
	for _, set := range o.others {
		for _, element := range path {
			if set = set.WithPrefix(element); set.Empty() {
				break
			}
		}
		if !set.Empty() {
			return true
		}
	}
	return false
}

func touches(set *fieldpath.Set, path fieldpath.Path) bool {
	for i, element := range path {
		// An element of a list is a member in addition to its fields: the membership alone is not significant.
		if set.Members.Has(element) && (i == len(path)-1 || element.FieldName != nil) {
			return true
		}
		below, ok := set.Children.Get(element)
		if !ok {
			return false
		}
		set = below
	}
	return true
}
