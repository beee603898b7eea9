// Package plan decides what to do: from the children that a composer declared and the
// objects that are there, an ordered list of actions.
//
// It is pure. It reads no cluster and no clock, so each of its decisions is a scenario
// file under testdata: objects in, actions out. Whoever changes what Operon does sees it
// there as a diff.
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
	// select by it, and an object without it is nobody's to change.
	OwnerLabel = "operon.dev/owner"
	// ShardLabel on a child, and on owners where the API server cannot select them, holds the
	// bucket of the owner's uid, where several replicas share objects: each caches only what is its own.
	ShardLabel = "operon.dev/shard"
	// HashAnnotation on a child holds the hash of what was applied last, so that after a
	// restart it is known without asking whether the composition changed.
	HashAnnotation = "operon.dev/applied"
	// ManagedByLabel is the recommended label by which tools tell who manages an object.
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

// String is Kind name, as people say it; the namespace is the owner's and left out.
func (id ID) String() string { return id.Kind + " " + id.Name }

// Verb is what an action does. The set is closed.
type Verb string

const (
	// Create makes a child that was not there before.
	Create Verb = "create"
	// Recreate makes a child again that someone deleted.
	Recreate Verb = "recreate"
	// Update applies a child whose composition changed.
	Update Verb = "update"
	// Repair applies a child in which someone changed fields that were composed.
	Repair Verb = "repair"
	// Keep does nothing: the child is as composed.
	Keep Verb = "keep"
	// Await does nothing yet: the child is being deleted and has to go first.
	Await Verb = "await"
	// Conflict does nothing: the object is another client's.
	Conflict Verb = "conflict"
	// Hold does nothing yet: a child has to be ready, or gone, first.
	Hold Verb = "hold"
	// Adopt takes over an object that nobody controls, as the author allowed.
	Adopt Verb = "adopt"
	// Replace deletes a child in which a field was to change that cannot be changed; it is
	// created again when it is gone.
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
	// Desired is the child as composed; nil for Delete, Release, and Hold before them.
	Desired *unstructured.Unstructured
	// Live is the object as observed; nil for Create and Recreate.
	Live *Live
	// Drift are the fields to put back; for Repair.
	Drift []Drift
	// Options are those of the desired child.
	Options Options
	// Why is a clause for people, such as "is controlled by Deployment web".
	Why string
}

// ID names the object that the action is about.
func (a Action) ID() ID {
	if a.Desired != nil {
		return Of(a.Desired)
	}
	return a.Live.ID()
}

// Input is all that a plan depends on.
type Input struct {
	// Owner is the UID of the object that was composed.
	Owner string
	// Manager is the operator's field manager.
	Manager string
	// Desired are the children in the order of their composition, complete with the owner's
	// label and the hash of Hash.
	Desired []*unstructured.Unstructured
	// Live holds the objects that there are under the IDs of the desired ones.
	Live map[ID]*Live
	// Owned are all objects that carry the owner's label, those included that got it as a
	// copy, which are left alone.
	Owned []*Live
	// Options of the desired children.
	Options map[ID]Options
	// Unready says of desired children that are there why they are not ready.
	Unready map[ID]string
	// Incomplete: more may be composed later, so nothing is pruned.
	Incomplete bool
	// Known are the children that were there once, as far as is remembered.
	Known map[ID]bool
}

// Make returns the actions: first the children in the order of Desired, which is that of
// Order, then, in reverse order of their creation, what is no longer declared.
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

// waitsFor says what has to be ready before an action, if anything. What is kept is kept, and
// what somebody spoiled is put back at once: it was allowed before.
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

// taken decides on an object that is not ours. One that went with an owner of the same name
// only has to go first; one that nobody controls may be adopted where the author allows it.
func taken(in Input, child *unstructured.Unstructured, live *Live) Action {
	controller, wanted := live.Controller(), metav1.GetControllerOf(child)
	switch {
	case controller != nil && wanted != nil && controller.Kind == wanted.Kind && controller.Name == wanted.Name && controller.UID != wanted.UID:
		return Action{Verb: Await, Desired: child, Live: live, Why: "belongs to an earlier object with the owner's name and must be deleted first"}
	case controller == nil && live.Owner == "" && !live.Deleting && in.Options[Of(child)].Has(MayAdopt):
		return Action{Verb: Adopt, Desired: child, Live: live, Why: ownerOf(live)}
	}
	return Action{Verb: Conflict, Desired: child, Live: live, Why: ownerOf(live)}
}

// Refused says what follows when the API server refused an action because fields cannot be
// changed.
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

// maxNamed is how many fields a message names. Where somebody cleared managedFields, all
// fields of an object are to be applied again.
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
