package report

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/providers"
)

// Events collects the Kubernetes events of one reconcile. They are sent together when the status is
// reported: events on transitions, not in every reconcile.
type Events struct{ list []event }

// event is one event, about the object or one of its children.
type event struct {
	kind, reason, action, note string
	// about is the child that the event is about, and its fields. The recorder combines events
	// that differ only in their notes into one event, with the first note.
	about *corev1.ObjectReference
}

// maxNote is the maximum length of the note of an event in the API, in bytes.
const maxNote = 1024

// maxFieldsAbout is the number of fields that an event refers to.
const maxFieldsAbout = 5

// Action records an action that changed a child.
func (e *Events) Action(action plan.Action) {
	before := len(e.list)
	e.describe(action)
	if len(e.list) > before {
		e.list[before].about = aboutChild(action)
	}
}

func (e *Events) describe(action plan.Action) {
	id := action.ID()
	switch action.Verb {
	case plan.Create:
		e.Merge("Created", "Create", "created", ", ", id.String())
	case plan.Update:
		e.Merge("Updated", "Update", "updated:", ", ", id.String())
	case plan.Recreate:
		e.Warning("Recreated", "Create", "%s %s; created it again", id, action.Why)
	case plan.Repair:
		e.Warning("Repaired", "Update", "reverted drift in %s: %s", id, action.Why)
	case plan.Adopt:
		e.Warning("Adopted", "Update", "adopted %s, which %s", id, action.Why)
	case plan.Replace:
		e.Warning("Replaced", "Delete", "deleted %s to recreate it: %s", id, action.Why)
	case plan.Release:
		e.Normal("Released", "Update", "released %s, which %s", id, action.Why)
	case plan.Delete:
		e.Merge("Pruned", "Delete", "deleted because no longer declared:", ", ", id.String())
	}
}

// externalEvents are the words for what was done to an external resource.
var externalEvents = map[external.Verb]struct{ reason, action, done string }{
	external.Create: {"ExternalCreated", "Create", "created external resource:"},
	external.Update: {"ExternalUpdated", "Update", "updated external resource:"},
	external.Delete: {"ExternalDeleted", "Delete", "deleted external resource:"},
	external.Note:   {"ExternalAdopted", "Adopt", "adopted external resource:"},
	external.Drop:   {"ExternalGone", "Forget", "external resource is gone:"},
}

// External records what was done to an external resource.
func (e *Events) External(deed providers.Deed) {
	words := externalEvents[deed.Verb]
	if deed.Err != nil || words.reason == "" {
		return
	}
	what := deed.Ref.String()
	if deed.ID != "" {
		what += " (" + deed.ID + ")"
	}
	if deed.Why != "" && deed.Verb != external.Create {
		what += ", " + deed.Why
	}
	e.Merge(words.reason, words.action, words.done, "; ", strings.TrimSpace(what))
}

// Merge appends a text to the event with that reason, after separator, or starts one: every event is
// a request to the API server.
func (e *Events) Merge(reason, action, done, separator, what string) {
	for i := range e.list {
		if e.list[i].reason == reason {
			e.list[i].note += separator + what
			return
		}
	}
	e.Normal(reason, action, "%s %s", done, what)
}

// Normal adds an event of type Normal.
func (e *Events) Normal(reason, action, note string, args ...any) {
	e.add(corev1.EventTypeNormal, reason, action, fmt.Sprintf(note, args...))
}

// Warning adds an event of type Warning.
func (e *Events) Warning(reason, action, note string, args ...any) {
	e.add(corev1.EventTypeWarning, reason, action, fmt.Sprintf(note, args...))
}

// Authors adds an event of the author's code with the type Normal or Warning.
func (e *Events) Authors(kind, reason, action, note string) { e.add(kind, reason, action, note) }

func (e *Events) add(kind, reason, action, note string) {
	e.list = append(e.list, event{kind: kind, reason: reason, action: action, note: note})
}

// Ready adds an event for a change of the Ready condition by an outcome. An object that was not
// ready before and waits for its children is not a transition.
func (e *Events) Ready(change Transition, now outcome.Kind) {
	before, after := change.Before, change.After
	if before.Status == after.Status && before.Reason == after.Reason || now == outcome.KindWait && before.Status != metav1.ConditionTrue {
		return
	}
	kind := corev1.EventTypeNormal
	if now == outcome.KindStalled || now == outcome.KindRetry {
		kind = corev1.EventTypeWarning
	}
	e.add(kind, after.Reason, "Reconcile", after.Message)
}

// Send sends the collected events, about an object, and drops them.
func (e *Events) Send(to events.EventRecorder, object runtime.Object) {
	for _, event := range e.list {
		note := event.note
		if len(note) > maxNote {
			note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
		}
		to.Eventf(object, event.related(), event.kind, event.reason, event.action, "%s", note)
	}
	e.list = nil
}

// related returns the other object of an event in the form that the recorder accepts.
func (e event) related() runtime.Object {
	if e.about == nil {
		return nil // and not a typed nil
	}
	return e.about
}

// aboutChild names the child of an action, and the fields that were restored.
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
