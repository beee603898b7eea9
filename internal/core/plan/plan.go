// Package plan decides what to do: it turns the children that a composer declared and the
// existing objects into an ordered list of actions.
//
// It is pure. It reads no cluster and no clock, so each of its decisions is a scenario file under testdata: objects in,
// actions out. A change in Operon's behavior shows there as a diff.
package plan

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// OwnerLabel on a child holds the UID of the object that it was composed for. Caches
	// select by it, and an object without it must not be changed.
	OwnerLabel = "operon.dev/owner"
	// ShardLabel on a child, and on owners if the API server cannot select them, holds the
	// bucket of the owner's UID if several replicas share objects: each replica caches only its own objects.
	ShardLabel = "operon.dev/shard"
	// HashAnnotation on a child holds the hash of the last applied content, so that after a
	// restart the operator knows without a request whether the composition changed.
	HashAnnotation = "operon.dev/applied"
	// ManagedByLabel is the recommended label that names the manager of an object.
	ManagedByLabel = "app.kubernetes.io/managed-by"
)

// ID names an object in a cluster.
type ID struct {
	schema.GroupKind
	Namespace, Name string
}

// Of returns the ID of an object.
func Of(o *unstructured.Unstructured) ID {
	return ID{o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName()}
}

// String returns kind and name. The namespace is the owner's and is left out.
func (id ID) String() string { return id.Kind + " " + id.Name }

// Verb is the type of an action. The set is closed.
type Verb string

const (
	// Create creates a child that did not exist before.
	Create Verb = "create"
	// Recreate creates a child again that was deleted by another client.
	Recreate Verb = "recreate"
	// Update applies a child whose composition changed.
	Update Verb = "update"
	// Repair applies a child in which another client changed composed fields.
	Repair Verb = "repair"
	// Keep does nothing: the child is as composed.
	Keep Verb = "keep"
	// Await does nothing yet: the child is being deleted, and the deletion has to complete first.
	Await Verb = "await"
	// Conflict does nothing: the object belongs to another manager.
	Conflict Verb = "conflict"
	// Hold does nothing yet: another child has to be ready, or deleted, first.
	Hold Verb = "hold"
	// Adopt takes over an object that has no controller, as the author allowed.
	Adopt Verb = "adopt"
	// Replace deletes a child because of a change to an immutable field. The child is
	// created again after it was deleted.
	Replace Verb = "replace"
	// Immutable does nothing: a field cannot be changed.
	Immutable Verb = "immutable"
	// Delete removes a child that is no longer declared.
	Delete Verb = "delete"
	// Release leaves a child behind that is no longer declared.
	Release Verb = "release"
)

// Action is one step of a plan.
type Action struct {
	Verb Verb
	// Desired is the child as composed. It is nil for Delete, for Release, and for a Hold before them.
	Desired *unstructured.Unstructured
	// Live is the object as observed. It is nil for Create and Recreate.
	Live *Live
	// Drift lists the fields to restore, for Repair.
	Drift []Drift
	// Options are the options of the desired child.
	Options Options
	// Why is the reason as a clause, such as "is controlled by Deployment web".
	Why string
}

// ID returns the ID of the object that the action is about.
func (a Action) ID() ID {
	if a.Desired != nil {
		return Of(a.Desired)
	}
	return a.Live.ID()
}

// Input is everything that a plan depends on.
type Input struct {
	// Owner is the UID of the object that was composed. Namespace is empty if it is cluster-scoped.
	Owner, Namespace string
	// Manager is the operator's field manager.
	Manager string
	// Desired are the children in the order of their composition, complete with the owner's
	// label and the hash of Hash.
	Desired []*unstructured.Unstructured
	// Live holds the existing objects under the IDs of the desired ones.
	Live map[ID]*Live
	// Owned are all objects with the owner's label, including those that got it as a
	// copy. The latter are ignored.
	Owned []*Live
	// Options are the options of the desired children.
	Options map[ID]Options
	// Unready holds the reasons why existing desired children are not ready.
	Unready map[ID]string
	// Incomplete means that more may be composed later, so nothing is pruned.
	Incomplete bool
	// Known are the children that existed before, as far as they are recorded.
	Known map[ID]bool
	// Orphans means that a user deletes the owner without its children.
	Orphans bool
}

// Make returns the actions: first the children in the order of Desired, which is the order of
// Order, then the objects that are no longer declared, in reverse order of their creation.
func Make(in Input) []Action {
	var actions []Action
	desired, done := map[ID]bool{}, map[ID]Verb{}
	for _, child := range in.Desired {
		id := Of(child)
		action := decide(in, child)
		action.Options = in.Options[id]
		if why := in.waitsFor(action, done); why != "" {
			action.Verb, action.Why = Hold, why
		}
		desired[id], done[id] = true, action.Verb
		actions = append(actions, action)
	}
	if in.Incomplete {
		return actions
	}
	return append(actions, prune(in, desired)...)
}

// waitsFor returns the children that have to be ready before an action, if any. Kept children never wait, and drift is
// repaired at once: the child was allowed before.
func (in Input) waitsFor(action Action, done map[ID]Verb) string {
	switch action.Verb {
	case Create, Recreate, Update, Adopt:
	default:
		return ""
	}
	for _, before := range action.Options.After {
		why := in.Unready[before]
		if done[before] != Keep && done[before] != Repair {
			why = "it is not up to date yet"
		}
		if why != "" {
			return fmt.Sprintf("waits until %s is ready: %s", before, why)
		}
	}
	return ""
}

func decide(in Input, child *unstructured.Unstructured) Action {
	id := Of(child)
	live := in.Live[id]
	switch {
	case live == nil && in.Known[id]:
		return Action{Verb: Recreate, Desired: child, Why: "was deleted"}
	case live == nil:
		return Action{Verb: Create, Desired: child}
	case live.Owner != in.Owner:
		return taken(in, child, live)
	case live.Deleting:
		return Action{Verb: Await, Desired: child, Live: live, Why: "is being deleted" + finalizers(live)}
	case live.Hash != child.GetAnnotations()[HashAnnotation]:
		return Action{Verb: Update, Desired: child, Live: live}
	}
	return keepOrRepair(in, child, live)
}

// taken decides on an object that the operator does not own. An object that belonged to a deleted owner of the same
// name only has to be deleted first. An object that the owner controls already, such as one of an earlier operator, is
// adopted. An object without a controller may be adopted if the author allows it, unless it belongs to an owner of another name.
func taken(in Input, child *unstructured.Unstructured, live *Live) Action {
	controller, wanted := live.Controller(), metav1.GetControllerOf(child)
	switch {
	case controller != nil && wanted != nil && controller.Kind == wanted.Kind && controller.Name == wanted.Name && controller.UID != wanted.UID:
		return Action{Verb: Await, Desired: child, Live: live, Why: "belongs to an earlier object with the owner's name and must be deleted first"}
	case controller != nil && string(controller.UID) == in.Owner && live.Owner == "" && !live.Deleting:
		return Action{Verb: Adopt, Desired: child, Live: live, Why: "was created for the same object by another operator"}
	case controller == nil && (live.Owner == "" || live.PartOf == child.GetLabels()[PartOfLabel]) && !live.Deleting && in.Options[Of(child)].Has(MayAdopt):
		return Action{Verb: Adopt, Desired: child, Live: live, Why: ownerOf(live)}
	}
	return Action{Verb: Conflict, Desired: child, Live: live, Why: ownerOf(live)}
}

// Refused returns the action that follows when the API server refused an action because fields are
// immutable.
func Refused(action Action, fields string) Action {
	action.Why = fields + " cannot be changed"
	action.Verb = Immutable
	if action.Options.Has(MayReplace) && action.Live != nil {
		action.Verb = Replace
	}
	return action
}

func keepOrRepair(in Input, child *unstructured.Unstructured, live *Live) Action {
	drift := Compare(child, live, in.Manager)
	if len(drift) == 0 {
		return Action{Verb: Keep, Desired: child, Live: live}
	}
	return Action{Verb: Repair, Desired: child, Live: live, Drift: drift, Why: describe(drift)}
}

// maxNamed is the number of fields that a message names. If another client cleared managedFields, all
// fields of an object have to be applied again.
const maxNamed = 5

func describe(drift []Drift) string {
	var parts []string
	for i, d := range drift {
		if i == maxNamed {
			parts = append(parts, fmt.Sprintf("and %d more", len(drift)-i))
			break
		}
		part := d.Field
		if d.By != "" {
			part += " (changed by " + d.By + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func ownerOf(live *Live) string {
	if controller := live.Controller(); controller != nil {
		return fmt.Sprintf("is controlled by %s %s", controller.Kind, controller.Name)
	}
	if owner := live.Owner; owner != "" {
		return "belongs to the object with UID " + owner
	}
	if by := live.ManagedBy; by != "" {
		return "is managed by " + by
	}
	return "exists already and was not created by this operator"
}

func finalizers(live *Live) string {
	if names := live.Finalizers; len(names) > 0 {
		return " and waits for its finalizers " + strings.Join(names, ", ")
	}
	return ""
}
