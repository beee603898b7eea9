package reconcile

import (
	"cmp"
	"fmt"
	"time"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/dueling"
)

// ReasonContested: somebody changes a child back as often as it is put right.
const ReasonContested = "Contested"

// holdBack tells whether an action is not to be carried out yet, as what it puts back is
// contested.
func (r *Reconciler[T]) holdBack(p *pass[T], action plan.Action) bool {
	left := r.ledger.Hold(p.object.GetUID(), action.ID(), r.undoes(p, action), r.Clock.Now())
	if left <= 0 {
		return false
	}
	p.held = cmp.Or(min(p.held, left), left)
	return true
}

// contests returns what there is to say of contests. While one lasts the object is not
// ready, also in the moments in which it is: what the spec wants does not stay.
func (r *Reconciler[T]) contests(p *pass[T]) outcome.Outcome {
	now := r.Clock.Now()
	contests, over := r.ledger.Contests(p.object.GetUID(), now)
	if len(contests) == 0 {
		return outcome.Done()
	}
	p.contested = dueling.Tell(contests)
	return outcome.Retry(max(cmp.Or(p.held, over.Sub(now)), time.Millisecond), ReasonContested, p.contested)
}

// undoes is what others did that an action puts right; nothing for most actions.
func (r *Reconciler[T]) undoes(p *pass[T], action plan.Action) []dueling.Change {
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
		// Who replaces a child as a whole drops what was applied last, and so looks as if
		// the composition had changed. It is the same one each time.
		by, to := r.overwriter(action), action.Desired.GetAnnotations()[plan.HashAnnotation]
		if by == "" {
			// Or it did change: who edits the spec to and fro fights with nobody.
			to = fmt.Sprintf("%s of generation %d", to, p.object.GetGeneration())
		}
		return []dueling.Change{{Field: "metadata.annotations." + plan.HashAnnotation, To: to, By: by}}
	}
	return nil
}

// overwriter is who changed a child that is to be updated, if it was somebody else.
func (r *Reconciler[T]) overwriter(action plan.Action) string {
	for _, d := range plan.Compare(action.Desired, action.Live, r.Manager) {
		if d.By != "" {
			return d.By
		}
	}
	return ""
}
