package plan

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Drift is a field that differs from the composed one.
type Drift struct {
	// Field is the path of the field, such as spec.template.spec.containers[name=web].image.
	Field string
	// By is the field manager that owns the field now, if managedFields name it.
	By string
}

// Compare returns the composed fields that another client has changed since manager applied them.
//
// Guarantees: every change or removal of a field in the API server, and every removal of an element
// from a list, is found. How the server writes a value (quantities, defaults, order) makes
// no difference, and neither do fields that were not composed.
//
// Assumptions: desired is what manager applied last, which the hash proves, and the API
// server maintains managedFields: it removes a field from the managers that own it when another
// one changes it. List keys are those of the kind's schema, as managedFields hold them.
//
// Caveats: changes by a mutating webhook to a field while it is applied are not drift. A
// write under the same manager's name and by server-side apply is treated as our own,
// though it drops the annotation of the hash and so leads to an update.
func Compare(desired *unstructured.Unstructured, live *Live, manager string) []Drift {
	c := comparison{live: live, owned: ownedIn(live, manager)}
	for _, key := range slices.Sorted(maps.Keys(desired.Object)) {
		switch key {
		case "apiVersion", "kind", "status":
		case "metadata":
			c.metadata(desired, live)
		default:
			c.value(step{}.field(key), desired.Object[key], c.owned.ours)
		}
	}
	return c.drift
}

// comparison collects the differences found.
type comparison struct {
	live  *Live
	owned owned
	drift []Drift
}

// step is a position in an object, as text and as managedFields write it.
type step struct {
	text string
	path fieldpath.Path
}

func (s step) field(name string) step {
	text := name
	if s.text != "" {
		text = s.text + "." + name
	}
	return s.with(text, fieldpath.PathElement{FieldName: &name})
}

func (s step) with(text string, element fieldpath.PathElement) step {
	return step{text: text, path: append(slices.Clip(s.path), element)}
}

func (c *comparison) differs(at step) {
	c.drift = append(c.drift, Drift{Field: at.text, By: c.owned.holders(at.path)})
}

// metadata compares the metadata that a composer can set. Owner references are few and contain their own identity,
// so they are compared directly.
func (c *comparison) metadata(desired *unstructured.Unstructured, live *Live) {
	at := step{}.field("metadata")
	ours := below(c.owned.ours, at)
	metadata, _ := desired.Object["metadata"].(map[string]any)
	for _, name := range []string{"annotations", "finalizers", "labels"} {
		if metadata[name] != nil {
			c.value(at.field(name), metadata[name], ours)
		}
	}
	for _, want := range desired.GetOwnerReferences() {
		if !live.RefersTo(want.UID) {
			c.differs(at.field("ownerReferences"))
		}
	}
}

// below returns the subset of a set below the last element of a position, or an empty set.
func below(set *fieldpath.Set, at step) *fieldpath.Set {
	if found, ok := set.Children.Get(at.path[len(at.path)-1]); ok {
		return found
	}
	return &fieldpath.Set{}
}

// value compares the composed value at a position. ours are the fields of its parent.
func (c *comparison) value(at step, want any, ours *fieldpath.Set) {
	last := at.path[len(at.path)-1]
	inside := below(ours, at)
	if inside.Empty() && ours.Members.Has(last) && !c.emptied(at, want) {
		return // ours as a whole: a leaf, or a map or list that is atomic or was empty
	}
	switch want := want.(type) {
	case map[string]any:
		if len(want) > 0 {
			c.object(at, want, inside)
			return
		}
	case []any:
		if len(want) > 0 && !inside.Empty() {
			c.list(at, want, inside)
			return
		}
	}
	if !ours.Members.Has(last) && inside.Empty() {
		c.differs(at)
	}
}

// emptied reports whether a map that the operator owns lost everything that was composed in it. If a kind
// has no schema, the map is owned in addition to its fields, and looks atomic when they were deleted:
// then others own its content, or it lacks everything that was composed.
func (c *comparison) emptied(at step, want any) bool {
	composed, ok := want.(map[string]any)
	if !ok || len(composed) == 0 {
		return false
	}
	if c.owned.inside(at.path) {
		return true
	}
	live, whole := c.live.Maps[at.text]
	return whole && !slices.ContainsFunc(live, func(name string) bool { return composed[name] != nil })
}

func (c *comparison) object(at step, want map[string]any, ours *fieldpath.Set) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		c.value(at.field(name), want[name], ours)
	}
}
