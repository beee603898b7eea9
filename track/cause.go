package track

import (
	"maps"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/cause"
	"github.com/operon-framework/operon/plan"
)

// happening is what a watch told of an object: what it means as a cause depends on whether
// the object is a child or only read.
type happening struct{ child, read cause.Kind }

var (
	appeared = happening{cause.ChildAppeared, cause.ReadAppeared}
	changed  = happening{cause.ChildChanged, cause.ReadChanged}
	gone     = happening{cause.ChildGone, cause.ReadGone}
)

// causeOf tells what happened to an object, from its states in the order of time.
func causeOf(id watchID, what happening, states []client.Object) cause.Cause {
	last := states[len(states)-1]
	kind := what.read
	if id.keys == plan.OwnerLabel {
		kind = what.child
	}
	return cause.Cause{
		Kind:   kind,
		Object: cause.Object{Kind: id.kind.Kind, Namespace: last.GetNamespace(), Name: last.GetName()},
		Note:   noteOf(states[0], last),
		At:     time.Now(),
	}
}

// noteOf says what of an object changed, as far as its metadata tells. Many kinds, such as
// ConfigMap, have no generation.
func noteOf(before, after client.Object) string {
	switch {
	case before == after:
		return ""
	case before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil:
		return "its deletion was asked for"
	case before.GetGeneration() != after.GetGeneration():
		return "its spec"
	case !maps.Equal(before.GetLabels(), after.GetLabels()) || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()):
		return "its metadata"
	case after.GetGeneration() > 0:
		return "its status"
	}
	return ""
}

func objectsOf(states []any) []client.Object {
	var objects []client.Object
	for _, state := range states {
		if object, ok := state.(client.Object); ok {
			objects = append(objects, object)
		}
	}
	return objects
}
