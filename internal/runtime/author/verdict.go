package author

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// Verdict is what the author's code reports about an object besides the objects that should exist.
type Verdict struct {
	// Outcomes are the reasons why the object is not ready.
	Outcomes []outcome.Outcome
	// Again is the delay after which the object is reconciled again. Zero means when something changes.
	Again time.Duration
	// Events to record.
	Events []Event
	// Degraded is the condition with that name. Nil means none.
	Degraded *Degraded
}

// Event is an event that the author's code records.
type Event struct{ Type, Reason, Message string }

// Degraded reports that the object works, but not as well as it should.
type Degraded struct{ Reason, Message string }

// verdict collects a Verdict.
type verdict struct{ found Verdict }

// Wait reports that something has to happen first.
func (v *verdict) Wait(reason, message string) {
	v.found.Outcomes = append(v.found.Outcomes, outcome.Wait(reason, message))
}

// Fail reports that only a change of the object, or of objects that were read for it, can help.
func (v *verdict) Fail(reason, message string) {
	v.found.Outcomes = append(v.found.Outcomes, outcome.Stalled(reason, message))
}

// RequeueAfter reconciles the object again after some time. The shortest of several times applies.
func (v *verdict) RequeueAfter(after time.Duration) {
	if after = max(after, time.Millisecond); v.found.Again == 0 || after < v.found.Again {
		v.found.Again = after
	}
}

// Event records an event of type Normal.
func (v *verdict) Event(reason, message string) { v.event(corev1.EventTypeNormal, reason, message) }

// Warning records an event of type Warning.
func (v *verdict) Warning(reason, message string) { v.event(corev1.EventTypeWarning, reason, message) }

func (v *verdict) event(kind, reason, message string) {
	v.found.Events = append(v.found.Events, Event{kind, reason, message})
}

// Outcome combines the outcomes of a verdict and the time of the next reconcile.
func (v Verdict) Outcome() outcome.Outcome {
	return outcome.Combine(append(v.Outcomes, outcome.Again(v.Again))...)
}

// TerminalError is an error that no retry can resolve.
type TerminalError struct {
	Reason string
	Err    error
}

func (e *TerminalError) Error() string { return e.Err.Error() }

func (e *TerminalError) Unwrap() error { return e.Err }

// Stalled returns the reason for the condition.
func (e *TerminalError) Stalled() string { return e.Reason }
