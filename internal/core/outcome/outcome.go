// Package outcome is the closed set of outcomes of a step of a reconcile, with the one rule that combines several of
// them.
//
// A boolean such as Requeue reports that something has to happen again, but not why or when. An Outcome is one of five:
// the step is done; it waits for something that will send an event; it has to be retried after some time; most likely, only a
// change of the spec can help; or the reconcile stops here.
package outcome

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the kind of an Outcome, one of five. They are ordered by how informative they are for a user: the larger one
// is reported.
type Kind int

const (
	// KindDone: the step succeeded.
	KindDone Kind = iota
	// KindWait: something else has to happen first, and its event will start the next
	// reconcile.
	KindWait
	// KindRetry: something has to happen that sends no event; the next reconcile follows
	// after some time.
	KindRetry
	// KindStalled: the step cannot succeed with this spec. Only a change starts the next
	// reconcile.
	KindStalled
	// KindStop: the reconcile is over, and nothing is left to do or to report. The object was deleted,
	// another client works on it, or it is too early.
	KindStop
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
	case KindStop:
		return "stop"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Outcome is the result of a step. The zero value is done.
type Outcome struct {
	kind    Kind
	reason  string
	message string
	after   time.Duration
	// backsOff means that some part is a retry whose time the work queue decides.
	backsOff bool
	// soon means that the object changed in the meantime, and is reconciled again at once.
	soon bool
	// aside means that the outcome is reported with the rest and does not end the reconcile.
	aside bool
	err   error
}

// Done is the outcome of a step that succeeded.
func Done() Outcome { return Outcome{} }

// Again is the outcome of a step that succeeded and has to run again after some time. With
// after 0 it is Done.
func Again(after time.Duration) Outcome { return Outcome{after: after} }

// Wait is the outcome of a step that waits for an event. reason is one CamelCase word, as
// in a condition; message is a readable sentence.
func Wait(reason, message string) Outcome {
	return Outcome{kind: KindWait, reason: reason, message: Cut(message, MaxMessage)}
}

// Retry is the outcome of a step that has to be retried after some time. With after 0,
// the work queue's backoff decides.
func Retry(after time.Duration, reason, message string) Outcome {
	return Outcome{kind: KindRetry, after: after, reason: reason, message: Cut(message, MaxMessage), backsOff: after == 0}
}

// Stalled is the outcome of a step that cannot succeed until the spec changes.
func Stalled(reason, message string) Outcome {
	return Outcome{kind: KindStalled, reason: reason, message: Cut(message, MaxMessage)}
}

// Stop is the outcome of a step after which the reconcile is over, with nothing to report. With after 0
// the object is reconciled again when something changes.
func Stop(after time.Duration) Outcome { return Outcome{kind: KindStop, after: after} }

// Aside returns the outcome marked as reported with the rest and not ending the reconcile.
func (o Outcome) Aside() Outcome {
	o.aside = true
	return o
}

// Soon returns the outcome with the request, if soon, to reconcile the object again at once.
func (o Outcome) Soon(soon bool) Outcome {
	o.soon = o.soon || soon
	return o
}

// With returns the outcome with the error that caused it. The error is for logs and the work queue. The reason and the
// message are for the user.
func (o Outcome) With(err error) Outcome {
	o.err = errors.Join(o.err, err)
	return o
}

// Ends reports whether the following steps are skipped: the outcome is neither done nor aside.
func (o Outcome) Ends() bool { return o.kind != KindDone && !o.aside }

// IsSoon reports whether the object is reconciled again at once.
func (o Outcome) IsSoon() bool { return o.soon }

// Err returns the error that caused the outcome, or nil. The errors of several outcomes are joined.
func (o Outcome) Err() error { return o.err }

// Kind returns the kind of the outcome.
func (o Outcome) Kind() Kind { return o.kind }

// Reason returns the CamelCase word of a condition, empty when done.
func (o Outcome) Reason() string { return o.reason }

// Message returns the readable sentence, empty when done.
func (o Outcome) Message() string { return o.message }

// After returns the time until the requested retry; 0 leaves it to the work queue.
func (o Outcome) After() time.Duration { return o.after }

// BacksOff reports whether a retry is left to the work queue, even if it is the retry of an outcome that lost to
// another one when combined.
func (o Outcome) BacksOff() bool { return o.backsOff }

func (o Outcome) String() string {
	if o.kind == KindDone {
		return o.kind.String()
	}
	return fmt.Sprintf("%s: %s: %s", o.kind, o.reason, o.message)
}

// Combine combines several outcomes into one: the most informative one wins, and among equals the earlier one. A retry
// that loses only to a stall keeps its time, so that it is still retried. A retry that is left to the work queue, which
// retries soon and then at growing intervals, is not delayed by one with its own time.
func Combine(outcomes ...Outcome) Outcome {
	combined, backsOff, soon := Done(), false, false
	var soonest time.Duration
	var errs []error
	for _, o := range outcomes {
		if o.kind > combined.kind {
			combined = o
		}
		if o.after > 0 && (soonest == 0 || o.after < soonest) {
			soonest = o.after
		}
		backsOff, soon = backsOff || o.backsOff, soon || o.soon
		if o.err != nil {
			errs = append(errs, o.err)
		}
	}
	combined.after, combined.backsOff, combined.soon, combined.aside, combined.err = soonest, backsOff, soon, false, errors.Join(errs...)
	if backsOff {
		combined.after = 0
	}
	return combined
}
