// Package outcome is the closed set of ways in which a step of a reconcile can end, and
// the one rule by which several ends make one.
//
// A boolean such as Requeue says that something is to happen again and leaves the reader
// to guess why and when. An Outcome says which of four things is true: the step is done;
// it waits for something that will send an event; it wants to be tried again after a
// while; or nothing but a change of the spec can help.
package outcome

import (
	"fmt"
	"time"
)

// Kind is which of the four an Outcome is. They are ordered by how much they tell a
// user: the larger one is worth reporting.
type Kind int

const (
	// KindDone: the step did what it is for.
	KindDone Kind = iota
	// KindWait: something else has to happen first, and its event will start the next
	// reconcile.
	KindWait
	// KindRetry: something has to happen that sends no event; the next reconcile comes
	// after a while.
	KindRetry
	// KindStalled: the step cannot succeed with this spec. Only a change starts the next
	// reconcile.
	KindStalled
)

func (k Kind) String() string {
	switch k {
	case KindDone:
		return "done"
	case KindWait:
		return "wait"
	case KindRetry:
		return "retry"
	case KindStalled:
		return "stalled"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Outcome is how a step ended. The zero value is done.
type Outcome struct {
	kind    Kind
	reason  string
	message string
	after   time.Duration
	// backsOff: some part is a retry whose time the work queue decides.
	backsOff bool
}

// Done is the outcome of a step that did what it is for.
func Done() Outcome { return Outcome{} }

// Again is the outcome of a step that did what it is for and is to be run again after a while. With
// after 0 it is Done.
func Again(after time.Duration) Outcome { return Outcome{after: after} }

// Wait is the outcome of a step that waits for an event. reason is one CamelCase word, as
// in a condition; message is a sentence for people.
func Wait(reason, message string) Outcome {
	return Outcome{kind: KindWait, reason: reason, message: message}
}

// Retry is the outcome of a step that is to be tried again after a while. With after 0,
// the work queue's backoff decides.
func Retry(after time.Duration, reason, message string) Outcome {
	return Outcome{kind: KindRetry, after: after, reason: reason, message: message, backsOff: after == 0}
}

// Stalled is the outcome of a step that cannot succeed until the spec changes.
func Stalled(reason, message string) Outcome {
	return Outcome{kind: KindStalled, reason: reason, message: message}
}

// Kind tells which of the four it is.
func (o Outcome) Kind() Kind { return o.kind }

// Reason is the CamelCase word of a condition, empty when done.
func (o Outcome) Reason() string { return o.reason }

// Message is the sentence for people, empty when done.
func (o Outcome) Message() string { return o.message }

// After is when a retry is wanted; 0 leaves it to the work queue.
func (o Outcome) After() time.Duration { return o.after }

// BacksOff tells whether a retry is left to the work queue, be it that of an outcome that told less than
// another one.
func (o Outcome) BacksOff() bool { return o.backsOff }

func (o Outcome) String() string {
	if o.kind == KindDone {
		return o.kind.String()
	}
	return fmt.Sprintf("%s: %s: %s", o.kind, o.reason, o.message)
}

// Combine makes one outcome of several: the one that tells most wins, the earlier one
// among equals. A retry that loses to nothing but a stall keeps its time, so that what can
// be tried again is. One that is left to the work queue, which tries soon and then ever more rarely, is not
// put off by one with a time of its own.
func Combine(outcomes ...Outcome) Outcome {
	combined, backsOff := Done(), false
	var soonest time.Duration
	for _, o := range outcomes {
		if o.kind > combined.kind {
			combined = o
		}
		if o.after > 0 && (soonest == 0 || o.after < soonest) {
			soonest = o.after
		}
		backsOff = backsOff || o.backsOff
	}
	combined.after, combined.backsOff = soonest, backsOff
	if backsOff {
		combined.after = 0
	}
	return combined
}
