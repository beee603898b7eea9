// Package plan decides what to do: from the children that a composer declared and the
// objects that are there, an ordered list of actions.
//
// It is pure. It reads no cluster and no clock, so each of its decisions is a scenario
// file under testdata: objects in, actions out. Whoever changes what Operon does sees it
// there as a diff.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// OwnerLabel on a child holds the UID of the object that it was composed for. Caches
	// select by it, and an object without it is nobody's to change.
	OwnerLabel = "operon.dev/owner"
	// HashAnnotation on a child holds the hash of what was applied last, so that after a
	// restart it is known without asking whether the composition changed.
	HashAnnotation = "operon.dev/applied"
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
	// Conflict does nothing: the object is somebody else's.
	Conflict Verb = "conflict"
	// Delete removes a child that is no longer composed.
	Delete Verb = "delete"
)

// Action is one step of a plan.
type Action struct {
	Verb Verb
	// Desired is the child as composed; nil for Delete.
	Desired *unstructured.Unstructured
	// Live is the object as observed; nil for Create and Recreate.
	Live *unstructured.Unstructured
	// Drift are the fields to put back; for Repair.
	Drift []Drift
	// Why is a clause for people, such as "is controlled by Deployment web".
	Why string
}

// ID names the object that the action is about.
func (a Action) ID() ID {
	if a.Desired != nil {
		return Of(a.Desired)
	}
	return Of(a.Live)
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
	Live map[ID]*unstructured.Unstructured
	// Owned are all objects that carry the owner's label.
	Owned []*unstructured.Unstructured
	// Known are the children that were there once, as far as is remembered.
	Known map[ID]bool
}

// Make returns the actions: first the children in the order of their composition, then,
// in reverse order of their creation, what is no longer composed.
func Make(in Input) []Action {
	var actions []Action
	desired := map[ID]bool{}
	for _, child := range in.Desired {
		desired[Of(child)] = true
		actions = append(actions, decide(in, child))
	}
	return append(actions, prune(in, desired)...)
}

func decide(in Input, child *unstructured.Unstructured) Action {
	id := Of(child)
	live := in.Live[id]
	switch {
	case live == nil && in.Known[id]:
		return Action{Verb: Recreate, Desired: child, Why: "was deleted"}
	case live == nil:
		return Action{Verb: Create, Desired: child}
	case live.GetLabels()[OwnerLabel] != in.Owner:
		return Action{Verb: Conflict, Desired: child, Live: live, Why: ownerOf(live)}
	case live.GetDeletionTimestamp() != nil:
		return Action{Verb: Await, Desired: child, Live: live, Why: "is being deleted" + finalizers(live)}
	case live.GetAnnotations()[HashAnnotation] != child.GetAnnotations()[HashAnnotation]:
		return Action{Verb: Update, Desired: child, Live: live}
	}
	return keepOrRepair(in, child, live)
}

func keepOrRepair(in Input, child, live *unstructured.Unstructured) Action {
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

func ownerOf(live *unstructured.Unstructured) string {
	if controller := metav1.GetControllerOf(live); controller != nil {
		return fmt.Sprintf("is controlled by %s %s", controller.Kind, controller.Name)
	}
	if owner := live.GetLabels()[OwnerLabel]; owner != "" {
		return "belongs to the object with UID " + owner
	}
	if by := live.GetLabels()["app.kubernetes.io/managed-by"]; by != "" {
		return "is managed by " + by
	}
	return "exists already and was not made by this operator"
}

func finalizers(live *unstructured.Unstructured) string {
	if names := live.GetFinalizers(); len(names) > 0 {
		return " and waits for its finalizers " + strings.Join(names, ", ")
	}
	return ""
}

// prune deletes the youngest first, as what came later may lean on what came earlier.
func prune(in Input, desired map[ID]bool) []Action {
	var doomed []*unstructured.Unstructured
	for _, live := range in.Owned {
		if !desired[Of(live)] && live.GetLabels()[OwnerLabel] == in.Owner && live.GetDeletionTimestamp() == nil {
			doomed = append(doomed, live)
		}
	}
	slices.SortStableFunc(doomed, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(
			b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time),
			cmp.Compare(Of(a).String(), Of(b).String()),
		)
	})
	var actions []Action
	for _, live := range doomed {
		actions = append(actions, Action{Verb: Delete, Live: live, Why: "is no longer composed"})
	}
	return actions
}
