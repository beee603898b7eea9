package plan

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Drift is a field that is not as it was composed.
type Drift struct {
	// Field is its path, such as spec.template.spec.containers[name=web].image.
	Field string
	// By is the field manager that owns it now, where managedFields tell.
	By string
}

// Compare finds the composed fields that somebody has changed since manager applied them.
//
// Guarantees: whatever changes a field in the API server, removes it, or takes an element
// out of a list, is found; how the server writes a value (quantities, defaults, order) makes
// no difference, and neither do fields that were not composed.
//
// Assumptions: desired is what manager applied last, which the hash tells, and the API
// server keeps managedFields: it takes a field from the managers that own it when another
// one changes it. List keys are those of the kind's schema, as managedFields hold them.
//
// Caveats: what a mutating webhook makes of a field while it is applied is not drift. A
// write under the same manager's name and by server-side apply is taken for our own,
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

// comparison collects what is found.
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

// metadata compares what a composer can set there. References to owners are few and hold
// what they are known by, so they are looked at themselves.
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

// below is what a set says of the last element of a position; empty if it says nothing.
func below(set *fieldpath.Set, at step) *fieldpath.Set {
	if found, ok := set.Children.Get(at.path[len(at.path)-1]); ok {
		return found
	}
	return &fieldpath.Set{}
}

// value compares what was composed at a position; ours are the fields of its parent.
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

// emptied reports whether a map that is ours lost all that was composed in it. Where a kind
// has no schema, a map is owned besides its fields, and when they are gone it looks as if
// it were atomic: then others own what is in it, or it lacks all that was composed.
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
