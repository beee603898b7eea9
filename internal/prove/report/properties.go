package report

import (
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/tools/sarif"
)

// property is what is said of a property that does not hold.
type property struct {
	id finding.Property
	// broken is what is wrong, title the property itself, each without a full stop.
	broken, title string
	// means is what comes of it, advice what to look for. Both are sentences.
	means, advice string
	level         string
}

// properties are all that can be broken, in the order of docs/prove/properties.md.
var properties = []property{
	{finding.SameState, "a fault left something behind", "What a fault did is over when the fault is",
		"The operator does not come back to the state that it reaches when nothing goes wrong.",
		"Work out what is missing from what there is, on each pass, and not from what the operator did before.", sarif.Error},
	{finding.SameFresh, "a change leads elsewhere than a new object", "A changed object leads to what a new one leads to, and back",
		"What users get depends on the order of their edits.",
		"Look for fields that are written at creation only, and for children that nobody removes.", sarif.Error},
	{finding.Restored, "drift is not put back", "What somebody else changed or deleted is put back",
		"A mistake made by hand stays, unseen, until the next change.",
		"Watch the children, and compare all that the operator sets, not only that they exist.", sarif.Error},
	{finding.NothingLeft, "something is left after the deletion", "After its deletion nothing is left of an object",
		"Every deleted object leaves rubbish, which costs, and is in the way of the next one of its name.",
		"Set owner references on children, and a finalizer for what garbage collection cannot reach.", sarif.Error},
	{finding.NothingForeign, "an object of somebody else was touched", "What belongs to others is neither changed nor deleted",
		"The operator damages what it does not own.",
		"Check the owner before a write or a delete, and select by labels that are the operator's own.", sarif.Error},
	{finding.DataKept, "an object with data was deleted", "No object with data is deleted or made again",
		"Users lose data.",
		"Before a deletion, read the object that decides it from the API server, and give its UID as a precondition.", sarif.Error},
	{finding.Silent, "the operator does not come to rest", "Who has nothing to do writes nothing",
		"It loads the API server and fills logs, without end.",
		"Look for a field that the API server defaults or reorders, and for a write that causes the next reconcile.", sarif.Warning},
	{finding.Truthful, "the status says what is not so", "The status is of this generation, and Ready only when the children are",
		"People and programs that wait for Ready go on too early, or never.",
		"Set observedGeneration with the conditions, from what was read after the last write.", sarif.Warning},
	{finding.Alive, "the operator ended by itself", "The operator does not end by itself, and never panics",
		"While it starts again nothing is looked after; and it will happen again.",
		"Check what can be nil or absent, and return errors in place of ending.", sarif.Error},
	{finding.Bounded, "objects become more and more", "Objects and events do not become more and more",
		"The cluster fills up until it refuses to work.",
		"Give children names that follow from the object, so that a second creation finds the first.", sarif.Warning},
	{finding.Deletable, "a deletion does not end", "A deletion ends",
		"The object, and often its namespace, cannot be removed without force.",
		"Remove the finalizer also when what it waits for is gone already.", sarif.Error},
	{finding.Refusing, "an invalid value does harm", "What is invalid is refused, or reported, and makes nothing worse",
		"A slip of a user's becomes an outage.",
		"State the rule in the CRD's schema or in CEL, so that the API server refuses it.", sarif.Warning},
	{finding.Permitted, "a permission is missing", "No permission is missing",
		"Some of the operator's work is never done in a real cluster.",
		"Add the rule; `operon prove --rbac` writes the Role.", sarif.Error},
	{finding.Needed, "a permission is never used", "No permission is granted and never used",
		"Who takes the operator over can do more than it needs.",
		"Remove the rule, or add a sample that needs it.", sarif.Note},
}

// about returns what is said of a property. One that is not known here is its name.
func about(id finding.Property) property {
	for _, p := range properties {
		if p.id == id {
			return p
		}
	}
	return property{id: id, broken: string(id), title: string(id), level: sarif.Warning}
}
