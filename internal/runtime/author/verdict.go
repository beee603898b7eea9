package author

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// Verdict is what the author's code says of an object besides declaring what should exist for it.
type Verdict struct {
	// Outcomes are the reasons why the object is not ready.
	Outcomes []outcome.Outcome
	// Again is after how long the object is to be reconciled again; zero: when something changes.
	Again time.Duration
	// Events are to be recorded.
	Events []Event
	// Degraded is the condition of that name, nil for none.
	Degraded *Degraded
}

// Event is an event of the author's.
type Event struct{ Type, Reason, Message string }

// Degraded reports that the object serves, but not as well as it should.
type Degraded struct{ Reason, Message string }

// verdict collects a Verdict.
type verdict struct{ found Verdict }

// Wait reports that something has to happen first.
func (v *verdict) Wait(reason, message string) {
	v.found.Outcomes = append(v.found.Outcomes, outcome.Wait(reason, message))
}

// Fail reports that only a change of the object, or of what was read for it, can help.
func (v *verdict) Fail(reason, message string) {
	v.found.Outcomes = append(v.found.Outcomes, outcome.Stalled(reason, message))
}

// RequeueAfter reconciles the object again after a while. Of several, the soonest counts.
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

// Outcome combines the outcomes of a verdict with when to reconcile again.
func (v Verdict) Outcome() outcome.Outcome {
	return outcome.Combine(append(v.Outcomes, outcome.Again(v.Again))...)
}

// TerminalError is an error that no retry cures.
type TerminalError struct {
	Reason string
	Err    error
}

func (e *TerminalError) Error() string { return e.Err.Error() }

func (e *TerminalError) Unwrap() error { return e.Err }

// Stalled is the reason for the condition.
func (e *TerminalError) Stalled() string { return e.Reason }
