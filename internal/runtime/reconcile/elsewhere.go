package reconcile

import (
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/core/plan"
)

// elsewhere returns the namespaces, other than the owner's, of children that are declared or that this process has seen.
func (r *reader) elsewhere() []string {
	var found []string
	note := func(namespace string) {
		if namespace != "" && namespace != r.owner.GetNamespace() && !slices.Contains(found, namespace) {
			found = append(found, namespace)
		}
	}
	if r.owner.GetNamespace() == "" {
		return nil // its children may be anywhere
	}
	for _, child := range r.desired {
		note(child.GetNamespace())
	}
	for _, id := range r.family.Children() {
		note(id.Namespace)
	}
	if len(r.Namespaces) > 0 { // then no watch shows that there are children in other namespaces
		for namespace := range r.listed {
			note(namespace)
		}
	}
	return found
}

// maxListed is how many of the namespaces in an owner's annotation count. A user who may write an owner may write its annotations.
const maxListed = 64

// listed returns the namespaces that the owner's annotation lists.
func (r *reader) listed(yield func(string) bool) {
	n := 0
	for namespace := range strings.SplitSeq(r.owner.GetAnnotations()[plan.NamespacesAnnotation], ",") {
		if n++; n > maxListed || !yield(namespace) {
			return
		}
	}
}

// own returns those of the objects with the owner's label that may be its children. Any user can set that label,
// and the name of the operator's field manager, on objects in their own namespace. An object in a namespace other than
// the owner's therefore counts only if a child is known to be there: from what is declared, from what this process has seen,
// or from the owner's annotation, which is written before the first child there. It adds the latter namespaces to known.
func (r *reader) own(labeled []*plan.Live, known []string) (own []*plan.Live, _ []string) {
	for _, live := range labeled {
		switch {
		case r.owner.GetNamespace() == "", live.Namespace == "", live.Namespace == r.owner.GetNamespace():
		case slices.Contains(known, live.Namespace):
		case r.lists(live.Namespace):
			known = append(known, live.Namespace)
		default:
			continue
		}
		own = append(own, live)
	}
	return own, known
}

// lists reports whether the owner's annotation lists a namespace.
func (r *reader) lists(namespace string) bool {
	for listed := range r.listed {
		if listed == namespace {
			return true
		}
	}
	return false
}
