package plan

import "strings"

const (
	// AfterAnnotation on a child names the children that it comes after, so that they are deleted after it even if
	// neither is composed any longer.
	AfterAnnotation = "operon.dev/after"
	// RemovalAnnotation on a child defines what happens to it when it is no longer declared.
	RemovalAnnotation = "operon.dev/on-removal"
	// RemovalOrphan is the value of RemovalAnnotation of a child that is left behind.
	RemovalOrphan = "orphan"
)

// Policy is the set of operations that an author allows for a child. The zero value allows nothing.
type Policy uint8

const (
	// MayAdopt allows taking over an existing object that has no controller.
	MayAdopt Policy = 1 << iota
	// MayReplace allows deleting and recreating the child if a field cannot be changed.
	MayReplace
	// LeaveBehind retains the child when it is no longer declared or its owner is deleted.
	LeaveBehind
)

// Has reports whether the set allows all of p.
func (set Policy) Has(p Policy) bool { return set&p == p }

// Options are the composed settings of a child other than its fields.
type Options struct {
	// After are the children that have to be ready first.
	After []ID
	Policy
}

// Key names an object in annotations: kind and group, namespace, name.
func (id ID) Key() string {
	return strings.Join([]string{id.GroupKind.String(), id.Namespace, id.Name}, "/")
}

// Keys returns the value of AfterAnnotation.
func Keys(ids []ID) string {
	var keys []string
	for _, id := range ids {
		keys = append(keys, id.Key())
	}
	return strings.Join(keys, ",")
}
