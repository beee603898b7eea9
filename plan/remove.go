package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Dismantle returns the actions for an owner that is being deleted: children that were
// composed to be left behind are released; those that garbage collection does not reach,
// or that have an order among them, are deleted, each after those that came after it. All
// others are left to garbage collection.
//
// With no action left, nothing holds the owner any more.
func Dismantle(owner, manager string, labelled []*unstructured.Unstructured) []Action {
	owned := applied(owner, manager, labelled)
	var doomed []*unstructured.Unstructured
	for _, live := range owned {
		if needsHelp(live, owner, owned) {
			doomed = append(doomed, live)
		}
	}
	return remove(doomed, owned, "has an owner that is being deleted")
}

// needsHelp tells whether garbage collection alone would not do with a child as it is meant.
func needsHelp(live *unstructured.Unstructured, owner string, owned []*unstructured.Unstructured) bool {
	for _, reference := range live.GetOwnerReferences() {
		if string(reference.UID) == owner {
			return live.GetAnnotations()[AfterAnnotation] != "" || dependent(live, owned) != nil
		}
	}
	return true
}

// prune removes what is no longer composed.
func prune(in Input, desired map[ID]bool) []Action {
	owned := applied(in.Owner, in.Manager, in.Owned)
	var doomed []*unstructured.Unstructured
	for _, live := range owned {
		if !desired[Of(live)] && live.GetDeletionTimestamp() == nil {
			doomed = append(doomed, live)
		}
	}
	return remove(doomed, owned, "is no longer composed")
}

// applied are those of the objects with an owner's label that were applied for it. Others
// got the label from a child: controllers copy a Service's labels to its Endpoints.
func applied(owner, manager string, labelled []*unstructured.Unstructured) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, live := range labelled {
		if live.GetLabels()[OwnerLabel] != owner {
			continue
		}
		controller := metav1.GetControllerOfNoCopy(live)
		if controller != nil && string(controller.UID) == owner || ownedIn(live, manager).ours.Has(ownerLabelPath) {
			found = append(found, live)
		}
	}
	return found
}

var ownerLabelPath = fieldpath.MakePathOrDie("metadata", "labels", OwnerLabel)

// remove deletes or releases, the youngest first, as what came later may lean on what came
// earlier. What was composed to come after another child has to be gone first.
func remove(doomed, owned []*unstructured.Unstructured, why string) []Action {
	slices.SortStableFunc(doomed, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(
			b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time),
			cmp.Compare(Of(a).String(), Of(b).String()),
		)
	})
	var actions []Action
	for _, live := range doomed {
		actions = append(actions, removal(live, owned, why))
	}
	return actions
}

func removal(live *unstructured.Unstructured, owned []*unstructured.Unstructured, why string) Action {
	if live.GetAnnotations()[RemovalAnnotation] == RemovalOrphan {
		return Action{Verb: Release, Live: live, Why: why}
	}
	if first := dependent(live, owned); first != nil {
		return Action{Verb: Hold, Live: live, Why: fmt.Sprintf("waits until %s is gone", Of(first))}
	}
	if live.GetDeletionTimestamp() != nil {
		return Action{Verb: Await, Live: live, Why: "is being deleted" + finalizers(live)}
	}
	return Action{Verb: Delete, Live: live, Why: why}
}

// dependent finds a child that was composed to come after another one, or nil. One that is
// left behind does not hold up anything.
func dependent(live *unstructured.Unstructured, owned []*unstructured.Unstructured) *unstructured.Unstructured {
	key := Of(live).Key()
	for _, other := range owned {
		annotations := other.GetAnnotations()
		if annotations[RemovalAnnotation] != RemovalOrphan && slices.Contains(strings.Split(annotations[AfterAnnotation], ","), key) {
			return other
		}
	}
	return nil
}
