package reconcile

import (
	"cmp"
	"fmt"
	"time"

	"github.com/operon-framework/operon/internal/core/dueling"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
)

// ReasonContested: another field manager reverts a child as often as it is repaired.
const ReasonContested = "Contested"

// duel returns the report about dueling controllers. held is how long the first of the repairs is held back. During a duel
// the object is not ready, even at moments at which it matches the spec, because that state does not last.
func duel(duels *dueling.Ledger, held time.Duration, now time.Time) (message string, o outcome.Outcome) {
	contests, over := duels.Contests(now)
	if len(contests) == 0 {
		return "", outcome.Done()
	}
	message = dueling.Tell(contests)
	return message, outcome.Retry(max(cmp.Or(held, over.Sub(now)), time.Millisecond), ReasonContested, message)
}

// undoes returns the changes by others that an action reverts. For most actions there are none.
func (c *carrier) undoes(action plan.Action) []dueling.Change {
	switch action.Verb {
	case plan.Repair:
		var changes []dueling.Change
		for _, d := range action.Drift {
			changes = append(changes, dueling.Change{Field: d.Field, By: d.By})
		}
		return changes
	case plan.Recreate:
		return []dueling.Change{{}}
	case plan.Update:
		if c.known.duels.Kept(action.ID(), action.Live.Hash) {
			return nil // the composition depends on other objects, which may change back and forth
		}
		// A client that replaces a child as a whole drops the hash of the last apply, and so it looks as if
		// the composition had changed. The composition is the same each time.
		by, to := c.overwriter(action), action.Desired.GetAnnotations()[plan.HashAnnotation]
		if by == "" {
			// Or it did change: a user who edits the spec back and forth causes no contest.
			to = fmt.Sprintf("%s of generation %d", to, c.owner.GetGeneration())
		}
		return []dueling.Change{{Field: "metadata.annotations." + plan.HashAnnotation, To: to, By: by}}
	}
	return nil
}

// overwriter returns the manager that changed a child that has to be updated, if it was another one.
func (c *carrier) overwriter(action plan.Action) string {
	for _, d := range plan.Compare(action.Desired, action.Live, c.applier.Manager) {
		if d.By != "" {
			return d.By
		}
	}
	return ""
}
