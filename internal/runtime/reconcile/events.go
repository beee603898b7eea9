package reconcile

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/internal/core/plan"
)

// event is something to tell the user, once.
type event struct {
	kind, reason, action, note string
	// about is the child that it is about, and its fields. The recorder makes one event of
	// those that differ in nothing but their notes, of which it keeps the first.
	about *corev1.ObjectReference
}

// maxNote is what the API takes as the note of an event, in bytes.
const maxNote = 1024

// maxFieldsAbout is how many fields an event refers to.
const maxFieldsAbout = 5

// tell makes an event of an action that changed something.
func (p *pass[T]) tell(action plan.Action) {
	before := len(p.events)
	p.describe(action)
	if len(p.events) > before {
		p.events[before].about = aboutChild(action)
	}
}

func (p *pass[T]) describe(action plan.Action) {
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
	p.events = append(p.events, event{kind: corev1.EventTypeNormal, reason: reason, action: action, note: fmt.Sprintf(note, args...)})
}

func (p *pass[T]) warning(reason, action, note string, args ...any) {
	p.events = append(p.events, event{kind: corev1.EventTypeWarning, reason: reason, action: action, note: fmt.Sprintf(note, args...)})
}

// sendEvents sends what there is to tell, once.
func (r *Reconciler[T]) sendEvents(p *pass[T]) {
	for _, e := range p.events {
		note := e.note
		if len(note) > maxNote {
			note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
		}
		r.Events.Eventf(p.object, e.related(), e.kind, e.reason, e.action, "%s", note)
	}
	p.events = nil
}

// related is what the recorder takes as the other object of an event.
func (e event) related() runtime.Object {
	if e.about == nil {
		return nil // and no typed nil
	}
	return e.about
}

// aboutChild refers to the child of an action, and to the fields that were put back.
func aboutChild(action plan.Action) *corev1.ObjectReference {
	id := action.ID()
	about := &corev1.ObjectReference{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
	if action.Desired != nil {
		about.APIVersion = action.Desired.GetAPIVersion()
	}
	var fields []string
	for _, d := range action.Drift {
		fields = append(fields, d.Field)
	}
	about.FieldPath = strings.Join(fields[:min(len(fields), maxFieldsAbout)], ", ")
	return about
}
