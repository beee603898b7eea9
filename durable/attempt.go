package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// taken is the step of a run that is due now.
type taken struct {
	run   *Run
	step  plain
	place int // in the journal
}

// attempt runs a step that is not done, or returns how long to wait.
func (t taken) attempt(ctx context.Context, next journal.Next) (string, error) {
	if left, limited := t.left(); limited && left <= 0 {
		return t.failed(fmt.Errorf("it is not done after %s", t.step.timeout), true)
	}
	if err := t.enter(ctx, next); err != nil {
		return "", t.run.halt(err)
	}
	attempt, end := t.limit(ctx)
	defer end()
	text, err := guarded(attempt, func() (string, error) { return t.step.do(attempt, t.run.attemptAt(t.place)) })
	return t.ended(attempt, text, err)
}

// enter records that an attempt begins, if that has to be recorded.
func (t taken) enter(ctx context.Context, next journal.Next) error {
	switch next {
	case journal.Later:
		step := t.run.journal.Steps[t.place]
		return t.suspend(step.NextAt.Sub(t.run.cfg.Clock.Now()), ReasonRetrying, step.Message)
	case journal.Look:
		return t.run.cfg.Confirm(ctx)
	}
	if t.step.undo != nil && t.run.cfg.Hold != nil {
		if err := t.run.cfg.Hold(ctx); err != nil {
			return err
		}
	}
	t.run.journal.Begun(t.place, t.step.name, t.run.cfg.Clock.Now())
	return t.run.save(ctx)
}

// ended records how an attempt ended. ctx is the context of the attempt.
func (t taken) ended(ctx context.Context, text string, err error) (string, error) {
	if err == nil {
		if err = t.run.journal.Done(t.place, text, t.run.cfg.Clock.Now()); err == nil {
			return text, nil
		}
		return t.failed(err, true)
	}
	if left, limited := t.left(); limited && left <= 0 {
		return t.failed(fmt.Errorf("it is not done after %s: %w", t.step.timeout, err), true)
	}
	if wait, ok := as[*waitError](err); ok {
		t.run.journal.Wait(t.place, wait.message)
		return "", t.run.halt(t.suspend(wait.after, ReasonWaiting, wait.message))
	}
	if ctx.Err() != nil {
		return "", t.run.halt(context.Cause(ctx)) // an interrupted attempt did not fail
	}
	_, final := as[*failError](err)
	return t.failed(err, final)
}

// failed records that an attempt failed.
func (t taken) failed(err error, final bool) (string, error) {
	now := t.run.cfg.Clock.Now()
	if t.run.journal.Failed(t.place, err.Error(), final, t.step.retry, now) {
		return "", &StepError{Step: t.step.name, Message: t.run.journal.Steps[t.place].Message}
	}
	step := t.run.journal.Steps[t.place]
	return "", t.run.halt(t.suspend(step.NextAt.Sub(now), ReasonRetrying, step.Message))
}

// suspend ends the call until something changes. If after is greater than 0, it waits at most that long, and at most until
// the step times out.
func (t taken) suspend(after time.Duration, reason, message string) error {
	if left, limited := t.left(); limited && (after <= 0 || left < after) {
		after = max(left, time.Millisecond)
	}
	message = fmt.Sprintf("step %s: %s", t.step.name, message)
	if after <= 0 {
		return &suspended{outcome.Wait(reason, message)}
	}
	return &suspended{outcome.Retry(after, reason, message)}
}

// left returns how much time the step has left.
func (t taken) left() (left time.Duration, limited bool) {
	if t.step.timeout <= 0 {
		return 0, false
	}
	if t.place >= len(t.run.journal.Steps) {
		return t.step.timeout, true
	}
	return t.run.journal.Steps[t.place].StartedAt.Add(t.step.timeout).Sub(t.run.cfg.Clock.Now()), true
}

// limit returns the context of an attempt. It ends when the step times out, and when the run is no longer wanted.
func (t taken) limit(ctx context.Context) (context.Context, func()) {
	attempt, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(nil) }
	if t.run.cfg.Stop != nil {
		stopped := context.AfterFunc(t.run.cfg.Stop, func() { cancel(errCanceled) })
		end = func() { stopped(); cancel(nil) }
	}
	if left, limited := t.left(); limited {
		limitedTo, free := context.WithTimeout(attempt, left)
		return limitedTo, func() { free(); end() }
	}
	return attempt, end
}

// errCanceled ends an attempt whose run is no longer wanted.
var errCanceled = errors.New("the run was canceled")
