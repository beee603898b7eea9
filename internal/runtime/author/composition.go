package author

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/external"
)

// Composition collects the children that a composer declares.
type Composition struct {
	reading
	children []*Child
	partial  bool
	verdict
}

// Composed is what a composer declared.
type Composed struct {
	// Children in the order of their declaration.
	Children []*Child
	Verdict
	// Incomplete: more may be composed later, so that nothing is pruned.
	Incomplete bool
}

// Declared returns what a composer declared.
func Declared(out *Composition) Composed {
	return Composed{out.children, out.verdict.found, len(out.found.Outcomes) > 0 || out.partial}
}

// NewComposition returns the composition of an owner, whose composer reads by reads. Without
// reads, nil, the composer cannot read.
func NewComposition(owner client.Object, reads Reads) *Composition {
	return NewCompositionWith(owner, reads, nil)
}

// NewCompositionWith is NewComposition for an owner with external resources: what is known of them, by kind.
func NewCompositionWith(owner client.Object, reads Reads, known map[string][]external.Known[any]) *Composition {
	return &Composition{reading: reading{reads: reads, owner: owner, outside: known}}
}

// Child declares that object should exist: typed or unstructured, with a name, with what
// matters of its spec and nothing else. Without a namespace it gets its owner's. Children
// are created in the order of their declaration, unless options say otherwise. A child
// that is declared only under a condition is deleted when the condition ends.
func (c *Composition) Child(object client.Object, options ...ChildOption) {
	declared := &Child{Object: object}
	for _, option := range options {
		option(declared)
	}
	c.children = append(c.children, declared)
}

// Partial says that more may have to exist than what was declared: nothing is deleted for not being declared.
// As opposed to Wait, it is no news for the Ready condition.
func (c *Composition) Partial() { c.partial = true }

// Children are what was declared, in order.
func (c *Composition) Children() []client.Object {
	var objects []client.Object
	for _, declared := range c.children {
		objects = append(objects, declared.Object)
	}
	return objects
}
