package providers

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// Reasons of the Ready condition when a call failed.
const (
	// ReasonAway: the external system does not respond.
	ReasonAway = "ExternalAway"
	// ReasonDenied: it does not accept the credentials.
	ReasonDenied = "ExternalDenied"
	// ReasonRefused: it rejects the declared resource.
	ReasonRefused = "ExternalRefused"
	// ReasonGarbage: its response is invalid.
	ReasonGarbage = "ExternalGarbage"
	// ReasonBusy: the rate limit of calls to it is reached.
	ReasonBusy = "ExternalBusy"
)

// result returns the result of the run, and stores what was observed.
func (r *run) result() Result {
	result := Result{Outcome: outcome.Done(), Deeds: r.deeds, WriteErr: r.err, Known: map[string][]external.Known[any]{}}
	for _, it := range r.items {
		result.Outcome = outcome.Combine(result.Outcome, r.settle(it))
		if it.err != nil && !it.postponed() {
			result.CallErr = errors.Join(result.CallErr, fmt.Errorf("%s: %w", it.Ref, it.err))
		}
		if !it.Declared {
			continue
		}
		known, ok := it.known()
		result.Known[it.Ref.Kind] = append(result.Known[it.Ref.Kind], known)
		result.Unknown = result.Unknown || !ok
	}
	return result
}

// settle stores the result of an item, and returns its outcome.
func (r *run) settle(it *item) outcome.Outcome {
	if !it.Declared && !it.Recorded && it.err == nil && r.err == nil {
		r.forgetOne(r.Task, it.Ref)
		return outcome.Done()
	}
	now, m := r.clock.Now(), it.memory
	recalled := it.wanted.equal(m.wanted) && now.Before(m.due) && !it.early
	m.wanted = it.wanted
	if it.err != nil {
		return r.failed(it, recalled)
	}
	m.err = nil
	if it.Looked {
		m.seen, m.id, m.updated = it.seen, it.lookedAt(), it.Updated
	}
	m.ready, m.why = it.action.Verb == external.Done, it.action.Why
	if !recalled {
		m.due = now.Add(it.pause())
		if it.kind.Poll == 0 && it.action.Verb == external.Done {
			m.due = now.Add(timing.forever)
		}
	}
	return it.told(m.due.Sub(now))
}

// pause returns when an item is observed again.
func (it *item) pause() time.Duration {
	if it.action.Verb == external.Done {
		it.memory.tries, it.memory.replaced = 0, false
		return spread(max(it.kind.Poll, time.Millisecond))
	}
	it.memory.tries++
	return spread(backoff(it.memory.tries-1, timing.firstWait, it.longest()))
}

// longest returns the longest interval between two observations of a resource that is not in the desired state.
func (it *item) longest() time.Duration { return cmp.Or(it.kind.Poll, external.DefaultPoll) }

// told returns the outcome of an item without an error.
func (it *item) told(after time.Duration) outcome.Outcome {
	message := fmt.Sprintf("%s %s", it.Ref, it.action.Why)
	switch it.action.Verb {
	case external.Wait:
		return outcome.Retry(after, it.action.Reason, message)
	case external.Stall:
		return outcome.Combine(outcome.Stalled(it.action.Reason, message), outcome.Retry(after, "", ""))
	case external.MarkIt:
		return outcome.Retry(after, external.ReasonNotReady, it.Ref.String()+" is created after another one")
	}
	if after > timing.forever/2 {
		return outcome.Done()
	}
	return outcome.Again(after)
}

// postponed reports whether the only problem is the rate limit.
func (it *item) postponed() bool {
	var busy *busyError
	return errors.As(it.err, &busy)
}

// failed stores an error, and returns its outcome.
func (r *run) failed(it *item, recalled bool) outcome.Outcome {
	m, now := it.memory, r.clock.Now()
	if !recalled || m.err == nil {
		m.tries++
		m.due = now.Add(it.retry())
	}
	m.err = it.err
	after, message := max(m.due.Sub(now), time.Millisecond), fmt.Sprintf("%s: %v", it.Ref, it.err)
	if it.postponed() {
		m.err = nil
		if m.seen != nil && m.id == it.lookedAt() {
			return outcome.Again(after) // nothing contradicts the last observation
		}
		return outcome.Retry(after, ReasonBusy, message)
	}
	switch external.ClassOf(it.err) {
	case external.Refused:
		return outcome.Combine(outcome.Stalled(ReasonRefused, message), outcome.Retry(after, "", ""))
	case external.Garbage:
		return outcome.Retry(after, ReasonGarbage, message)
	case external.Denied:
		return outcome.Retry(after, ReasonDenied, message)
	}
	return outcome.Retry(after, ReasonAway, message)
}

// retry returns when a failed call is retried: for a system that does not respond, when the next call is permitted.
func (it *item) retry() time.Duration {
	var away *AwayError
	var busy *busyError
	switch {
	case errors.As(it.err, &away):
		return away.after
	case errors.As(it.err, &busy):
		return spread(busy.after)
	}
	return spread(backoff(it.memory.tries-1, timing.firstWait, it.longest()))
}

// known returns what is known of an item. It returns false if nothing is known.
func (it *item) known() (external.Known[any], bool) {
	m := it.memory
	k := external.Known[any]{Name: it.Ref.Name, ID: it.lookedAt(), Why: m.why}
	seen := it.seen
	if seen == nil && m.seen != nil && m.id == k.ID {
		seen = m.seen // last known
	}
	if it.err != nil && !it.postponed() {
		k.Why = it.err.Error()
	}
	if seen == nil || !it.Trusted() {
		return k, it.err == nil && k.ID == ""
	}
	k.Exists, k.State, k.Details = seen.Exists, seen.State, seen.Details
	k.Ready = m.ready && (it.err == nil || it.postponed())
	return k, true
}
