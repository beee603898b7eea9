package report

import (
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/tools/sarif"
)

// property contains the texts about a property that does not hold.
type property struct {
	id finding.Property
	// broken describes what is wrong. title is the property itself. Neither ends with a period.
	broken, title string
	// means describes the consequences. advice describes what to check. Both are sentences.
	means, advice string
	level         string
}

// properties contains all properties, in the order of docs/prove/properties.md.
var properties = []property{
	{finding.SameState, "a fault has a lasting effect", "Faults have no lasting effect",
		"The operator does not reach the state that it reaches without faults.",
		"In each reconcile, derive what is missing from the current state, not from what the operator did before.", sarif.Error},
	{finding.SameFresh, "a change leads to another state than a new object", "A changed object leads to the same state as a new one",
		"The result depends on the order of users' edits.",
		"Look for fields that are written only at creation, and for children that are never removed.", sarif.Error},
	{finding.Restored, "drift is not reverted", "The operator reverts drift",
		"A manual mistake stays unnoticed until the next change.",
		"Watch the children, and compare all fields that the operator sets, not only whether the children exist.", sarif.Error},
	{finding.NothingLeft, "objects are left after a deletion", "Deleting an object removes everything created for it",
		"Each deleted object leaves orphans, which use resources and conflict with the next object of the same name.",
		"Set owner references on children, and a finalizer for children that garbage collection cannot reach.", sarif.Error},
	{finding.NothingForeign, "an object of another owner was changed", "Objects of other owners are neither changed nor deleted",
		"The operator damages objects that it does not own.",
		"Check the owner before a write or a delete, and select by labels that only the operator uses.", sarif.Error},
	{finding.DataKept, "an object with data was deleted", "Objects with data are not deleted or recreated",
		"Users lose data.",
		"Before a deletion, read the object that decides it from the API server, and pass its UID as a precondition.", sarif.Error},
	{finding.Silent, "the operator does not become quiescent", "A quiescent operator writes nothing",
		"It keeps loading the API server and filling logs.",
		"Look for a field that the API server defaults or reorders, and for a write that triggers the next reconcile.", sarif.Warning},
	{finding.Truthful, "the status is wrong", "The status describes the current generation, and Ready only if the children are",
		"Users and programs that wait for Ready continue too early, or never.",
		"Set observedGeneration together with the conditions, based on what was read after the last write.", sarif.Warning},
	{finding.Alive, "the operator exited", "The operator does not exit on its own and never panics",
		"While it restarts, nothing is reconciled, and the crash will happen again.",
		"Check for values that can be nil or missing, and return errors instead of exiting.", sarif.Error},
	{finding.Bounded, "the number of objects keeps growing", "The number of objects and events does not keep growing",
		"The cluster fills up until it stops working.",
		"Derive the names of children from the object, so that a second creation finds the first.", sarif.Warning},
	{finding.Deletable, "a deletion does not finish", "Deletions finish",
		"The object, and often its namespace, cannot be removed without force.",
		"Remove the finalizer also if what it waits for is already gone.", sarif.Error},
	{finding.Refusing, "an invalid value does harm", "Invalid values are rejected or reported, and do no harm",
		"A typo of a user becomes an outage.",
		"Express the rule in the CRD's schema or in CEL, so that the API server rejects the value.", sarif.Warning},
	{finding.Permitted, "a permission is missing", "No permission is missing",
		"Some of the operator's work is never done in a real cluster.",
		"Add the rule; `operon prove --print-rbac` writes the Role.", sarif.Error},
	{finding.Needed, "a permission is never used", "No granted permission is unused",
		"An attacker who takes over the operator can do more than it needs.",
		"Remove the rule, or add a sample that needs it.", sarif.Note},
}

// about returns the texts about a property. For an unknown property, it uses the name of the property.
func about(id finding.Property) property {
	for _, p := range properties {
		if p.id == id {
			return p
		}
	}
	return property{id: id, broken: string(id), title: string(id), level: sarif.Warning}
}
