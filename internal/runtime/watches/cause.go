package watches

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/trigger"
)

// happening is a watch event of an object: its meaning as a cause depends on whether
// the object is a child or only read.
type happening struct{ child, read trigger.Kind }

var (
	appeared = happening{trigger.ChildAppeared, trigger.ReadAppeared}
	changed  = happening{trigger.ChildChanged, trigger.ReadChanged}
	gone     = happening{trigger.ChildGone, trigger.ReadGone}
)

// causeOf returns what happened to an object that the scope selects, from its states in
// chronological order.
func (s scope) causeOf(what happening, states []any) trigger.Cause {
	why := trigger.Cause{Kind: what.read, At: time.Now()}
	switch last := states[len(states)-1].(type) {
	case *plan.Live:
		why.Kind = what.child
		why.Object = trigger.Object{Kind: s.kind.Kind, Namespace: last.Namespace, Name: last.Name}
		if before, ok := states[0].(*plan.Live); ok {
			why.Note = noteOfChild(before, last)
		}
	case client.Object:
		why.Object = trigger.Object{Kind: s.kind.Kind, Namespace: last.GetNamespace(), Name: last.GetName()}
		if before, ok := states[0].(client.Object); ok {
			why.Note = noteOf(before, last)
		}
	}
	return why
}

// Notes say what changed in an object.
const (
	deletion = "its deletion was requested"
	ofSpec   = "its spec"
	ofMeta   = "its metadata"
	ofStatus = "its status"
)

func noteOfChild(before, after *plan.Live) string {
	switch {
	case !before.Deleting && after.Deleting:
		return deletion
	case before.Generation != after.Generation:
		return ofSpec
	case before.State != after.State:
		return ofStatus
	}
	return ""
}

// noteOf compares metadata. Many kinds, such as ConfigMap, have no generation.
func noteOf(before, after client.Object) string {
	switch {
	case before == after:
		return ""
	case before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil:
		return deletion
	case before.GetGeneration() != after.GetGeneration():
		return ofSpec
	case !maps.Equal(before.GetLabels(), after.GetLabels()) || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()):
		return ofMeta
	case after.GetGeneration() > 0:
		return ofStatus
	}
	return ""
}

// ofKind returns the cause that a kind as a whole appeared or was removed.
func ofKind(kind schema.GroupVersionKind, what happening, note string) trigger.Cause {
	return trigger.Cause{Kind: what.read, Object: trigger.Object{Kind: kind.Kind}, Note: note, At: time.Now()}
}
