package reconcile

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/plan"
)

// event is something to tell the user, once.
type event struct {
	kind, reason, action, note string
}

// maxNote is what the API takes as the note of an event, in bytes.
const maxNote = 1024

// tell makes an event of an action that changed something.
func (p *pass[T]) tell(action plan.Action) {
	id := action.ID()
	switch action.Verb {
	case plan.Create:
		p.together("Created", "Create", "created", id)
	case plan.Update:
		p.together("Updated", "Update", "updated as composed:", id)
	case plan.Recreate:
		p.warning("Recreated", "Create", "%s %s; created it again", id, action.Why)
	case plan.Repair:
		p.warning("Repaired", "Update", "put back in %s: %s", id, action.Why)
	case plan.Adopt:
		p.warning("Adopted", "Update", "took over %s, which %s", id, action.Why)
	case plan.Replace:
		p.warning("Replaced", "Delete", "deleted %s to make it again: %s", id, action.Why)
	case plan.Release:
		p.normal("Released", "Update", "left %s behind, which %s", id, action.Why)
	case plan.Delete:
		p.together("Pruned", "Delete", "deleted as no longer composed:", id)
	}
}

// together tells what happened to several children as one event: each event is a request
// to the API server.
func (p *pass[T]) together(reason, action, what string, id plan.ID) {
	for i := range p.events {
		if p.events[i].reason == reason {
			p.events[i].note += ", " + id.String()
			return
		}
	}
	p.normal(reason, action, "%s %s", what, id)
}

func (p *pass[T]) normal(reason, action, note string, args ...any) {
	p.events = append(p.events, event{corev1.EventTypeNormal, reason, action, fmt.Sprintf(note, args...)})
}

func (p *pass[T]) warning(reason, action, note string, args ...any) {
	p.events = append(p.events, event{corev1.EventTypeWarning, reason, action, fmt.Sprintf(note, args...)})
}

func (r *Reconciler[T]) sendEvents(p *pass[T]) {
	for _, e := range p.events {
		note := e.note
		if len(note) > maxNote {
			note = note[:maxNote-3] + "..."
		}
		r.Events.Eventf(p.object, nil, e.kind, e.reason, e.action, "%s", note)
	}
}
