package plan

import "strings"

const (
	// AfterAnnotation on a child names the children that it was composed to come after, so
	// that they outlive it also when nobody composes either any more.
	AfterAnnotation = "operon.dev/after"
	// RemovalAnnotation on a child says the result of it when it is not wanted any more.
	RemovalAnnotation = "operon.dev/on-removal"
	// RemovalOrphan is the value of RemovalAnnotation of a child that is left behind.
	RemovalOrphan = "orphan"
)

// Policy is a set of what an author allows for a child. The zero value allows nothing.
type Policy uint8

const (
	// MayAdopt: an object that exists and that nobody controls may be taken over.
	MayAdopt Policy = 1 << iota
	// MayReplace: where a field cannot be changed, the child may be deleted and made again.
	MayReplace
	// LeaveBehind: the child stays when it is no longer declared or its owner goes.
	LeaveBehind
)

// Has reports whether the set allows all of p.
func (set Policy) Has(p Policy) bool { return set&p == p }

// Options are what was composed of a child besides its fields.
type Options struct {
	// After are the children that have to be ready first.
	After []ID
	Policy
}

// Key names an object in annotations: kind and group, namespace, name.
func (id ID) Key() string {
	return strings.Join([]string{id.GroupKind.String(), id.Namespace, id.Name}, "/")
}

// Keys is the value of AfterAnnotation.
func Keys(ids []ID) string {
	var keys []string
	for _, id := range ids {
		keys = append(keys, id.Key())
	}
	return strings.Join(keys, ",")
}
