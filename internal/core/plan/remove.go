package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Dismantle returns the actions for an owner that is being deleted: nothing is desired. Children that were
// composed to be left behind are released, and all children if the owner is deleted without them. Children that garbage
// collection does not reach, or that have an order among them, are deleted, each after the children that came after it. All
// others are left to garbage collection.
//
// When no action remains, nothing holds the owner any more.
func Dismantle(in Input) []Action {
	owned := applied(in.Owner, in.Manager, in.Owned)
	var actions []Action
	if in.Orphans {
		for _, live := range owned {
			actions = append(actions, Action{Verb: Release, Live: live, Why: "has an owner that is deleted without it"})
		}
		return actions
	}
	var doomed []*Live
	for _, live := range owned {
		if needsHelp(live, in.Owner, owned) {
			doomed = append(doomed, live)
		}
	}
	return remove(doomed, owned, "has an owner that is being deleted")
}

// Orphaned reports whether garbage collection has removed the references of all children that had one, as it does for an owner that
// is deleted without its children before it removes the owner's finalizer for that.
func (in Input) Orphaned() bool {
	found := false
	for _, live := range applied(in.Owner, in.Manager, in.Owned) {
		if live.RefersTo(types.UID(in.Owner)) {
			return false
		}
		found = found || live.Removal != RemovalOrphan && (in.Namespace == "" || in.Namespace == live.Namespace)
	}
	return found
}

// needsHelp reports whether garbage collection alone would not remove a child as composed.
func needsHelp(live *Live, owner string, owned []*Live) bool {
	return !live.RefersTo(types.UID(owner)) || live.After != "" || dependent(live, owned) != nil
}

// prune removes the objects that are no longer declared.
func prune(in Input, desired map[ID]bool) []Action {
	owned := applied(in.Owner, in.Manager, in.Owned)
	var doomed []*Live
	for _, live := range owned {
		if !desired[live.ID()] && !live.Deleting {
			doomed = append(doomed, live)
		}
	}
	return remove(doomed, owned, "is no longer declared")
}

// applied returns those objects with an owner's label that were applied for it. Other objects
// got the label from a child: controllers copy a Service's labels to its Endpoints.
func applied(owner, manager string, labelled []*Live) []*Live {
	var found []*Live
	for _, live := range labelled {
		if live.Owner != owner {
			continue
		}
		controller := live.Controller()
		if controller != nil && string(controller.UID) == owner || ownedIn(live, manager).ours.Has(ownerLabelPath) {
			found = append(found, live)
		}
	}
	return found
}

var ownerLabelPath = fieldpath.MakePathOrDie("metadata", "labels", OwnerLabel)

// remove deletes or releases objects, the youngest first, because later objects may depend on
// earlier ones. An object that was composed to come after another child has to be deleted before that child.
func remove(doomed, owned []*Live, why string) []Action {
	slices.SortStableFunc(doomed, func(a, b *Live) int {
		return cmp.Or(
			b.Created.Compare(a.Created.Time),
			cmp.Compare(a.ID().String(), b.ID().String()),
		)
	})
	var actions []Action
	for _, live := range doomed {
		actions = append(actions, removal(live, owned, why))
	}
	return actions
}

func removal(live *Live, owned []*Live, why string) Action {
	if live.Removal == RemovalOrphan {
		return Action{Verb: Release, Live: live, Why: why}
	}
	if first := dependent(live, owned); first != nil {
		return Action{Verb: Hold, Live: live, Why: fmt.Sprintf("waits until %s is gone", first.ID())}
	}
	if live.Deleting {
		return Action{Verb: Await, Live: live, Why: "is being deleted" + finalizers(live)}
	}
	return Action{Verb: Delete, Live: live, Why: why}
}

// dependent returns a child that was composed to come after another one, or nil. Orphaned children block nothing, and neither do children
// that wait for each other: Order rejects such children, but any user may edit the annotation.
func dependent(live *Live, owned []*Live) *Live {
	for _, other := range owned {
		if other.Removal != RemovalOrphan && comesAfter(other, live) && !reaches(live, other, owned, map[*Live]bool{}) {
			return other
		}
	}
	return nil
}

// comesAfter reports whether a child names another one in its annotation.
func comesAfter(child, other *Live) bool {
	return slices.Contains(strings.Split(child.After, ","), other.ID().Key())
}

// reaches reports whether a child comes after another one, directly or by way of others.
func reaches(child, other *Live, owned []*Live, seen map[*Live]bool) bool {
	if child.After == "" || seen[child] {
		return false
	}
	seen[child] = true
	return slices.ContainsFunc(owned, func(next *Live) bool {
		return comesAfter(child, next) && (next == other || reaches(next, other, owned, seen))
	})
}
