package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// Reasons of the outcome of a call.
const (
	// ReasonWaiting: a step waits for something.
	ReasonWaiting = "StepWaiting"
	// ReasonRetrying: a step failed and will be retried.
	ReasonRetrying = "StepRetrying"
	// ReasonUndoing: the compensation of a step has not succeeded yet.
	ReasonUndoing = "StepUndoing"
	// ReasonFailed: a step failed for good, and the steps that were done have been undone.
	ReasonFailed = "StepFailed"
	// ReasonCanceled: the run was canceled, and the steps that were done have been undone.
	ReasonCanceled = "Canceled"
	// ReasonNext: the run has ended, and another one will begin.
	ReasonNext = "NextRun"
)

// Carry calls the work once, and takes the run as far as it can go now. The outcome is done if the run succeeded,
// and stalled if it failed or was canceled. An error is not a failure of the run, whose state does not change:
// another operator may have continued it, or the journal cannot be stored. Afterwards, the caller must store what
// Journal returns, on the same condition as Save.
func (r *Run) Carry(ctx context.Context, work func(context.Context, *Run) error) (outcome.Outcome, error) {
	if r.journal != nil {
		if err := r.journal.Check(); err != nil {
			return outcome.Done(), err
		}
	}
	if r.cfg.Cancel != "" {
		r.Cancel(r.cfg.Cancel)
	}
	err := work(ctx, r)
	switch {
	case r.paused && r.closing():
		return r.closePaused(ctx)
	case r.halted != nil && !errors.Is(r.halted, errStopped):
		return r.stopped()
	case r.journal == nil && err == nil || r.journal != nil && r.journal.Phase.Over():
		return r.verdict(), nil
	case err != nil:
		r.begun()
		if changed := r.complete(); changed != nil {
			return outcome.Done(), changed // before the run is broken: the code that began it can still continue it
		}
		r.journal.Break(err.Error())
	default:
		if err := r.journal.Finish(len(r.steps)); err != nil {
			return outcome.Done(), err
		}
	}
	return r.unwind(ctx)
}

// closing reports whether the run begins no further steps.
func (r *Run) closing() bool {
	if r.journal == nil || r.journal.Phase == journal.Running {
		return false
	}
	return !r.journal.Phase.Over() || r.cfg.Cancel != ""
}

// closePaused closes a run whose work waits, or retries, outside of a step. What it waits for matters only if a step that
// has to be undone comes after it, because the code of that step is not known yet.
func (r *Run) closePaused(ctx context.Context) (outcome.Outcome, error) {
	if r.journal.Phase.Over() {
		return r.verdict(), nil
	}
	if r.complete() == nil {
		return r.unwind(ctx)
	}
	later, waits := as[*suspended](r.halted)
	if !waits {
		return r.stopped()
	}
	message := fmt.Sprintf("the code waits before the step %s, which must be undone: %v", r.journal.Steps[len(r.steps)].Name, later)
	return outcome.Combine(outcome.Wait(ReasonUndoing, message), outcome.Again(later.outcome.After())), nil
}

// stopped returns the outcome of a call that ended early.
func (r *Run) stopped() (outcome.Outcome, error) {
	if later, ok := as[*suspended](r.halted); ok {
		return later.outcome, nil
	}
	if errors.Is(r.halted, errCanceled) {
		return outcome.Retry(time.Millisecond, ReasonUndoing, errCanceled.Error()), nil
	}
	return outcome.Done(), r.halted
}

// verdict returns the outcome of a run that is over.
func (r *Run) verdict() outcome.Outcome {
	switch {
	case r.journal == nil:
		return outcome.Done()
	case r.another && r.cfg.Cancel == "":
		return outcome.Retry(time.Millisecond, ReasonNext, "the work is over, and the next begins")
	case r.journal.Phase == journal.Failed:
		return outcome.Stalled(ReasonFailed, r.journal.Message)
	case r.journal.Phase == journal.Canceled:
		return outcome.Stalled(ReasonCanceled, r.journal.Message)
	}
	return outcome.Done()
}

// unwind undoes the completed steps, or cleans up after them, and closes the run.
func (r *Run) unwind(ctx context.Context) (outcome.Outcome, error) {
	if err := r.complete(); err != nil {
		return outcome.Done(), err
	}
	for {
		now := r.cfg.Clock.Now()
		place, next, more := r.journal.Undo(r.cleans, now)
		if !more {
			break
		}
		if next == journal.Later {
			step := r.journal.Steps[place]
			return outcome.Retry(step.NextAt.Sub(now), ReasonUndoing, fmt.Sprintf("step %s: %s", step.Name, step.Message)), nil
		}
		if o, err := r.clean(ctx, place); err != nil || o.Kind() != outcome.KindDone {
			return o, err
		}
	}
	if r.cfg.Release != nil { // before the journal is closed, which may be stored although this fails
		if err := r.cfg.Release(ctx); err != nil {
			return outcome.Done(), err
		}
	}
	r.journal.Close(r.cfg.Clock.Now())
	return r.verdict(), nil
}

// complete reports whether the code reached all steps that have to be undone. The steps after a step that is undone were
// already undone before it.
func (r *Run) complete() error {
	reached := len(r.steps)
	if reached == len(r.journal.Steps) {
		return nil
	}
	if reached > 0 {
		switch r.journal.Steps[reached-1].State {
		case journal.StepUndoing, journal.StepUndone:
			return nil
		}
	}
	return &journal.ChangedError{Why: fmt.Sprintf("the step %q must be undone, but the code no longer has it", r.journal.Steps[reached].Name)}
}

// cleans reports whether the step at a place has to be undone or cleaned up when the run ends.
func (r *Run) cleans(place int) bool {
	if place >= len(r.steps) || r.steps[place].undo == nil {
		return false
	}
	return r.journal.Phase == journal.Undoing || r.steps[place].finally
}

// clean undoes one step.
func (r *Run) clean(ctx context.Context, place int) (outcome.Outcome, error) {
	s := r.steps[place]
	r.journal.UndoBegun(place)
	if err := r.save(ctx); err != nil {
		return outcome.Done(), err
	}
	_, err := guarded(ctx, func() (string, error) {
		return "", s.undo(ctx, r.attemptAt(place), r.journal.Steps[place].Result)
	})
	if err == nil {
		r.journal.Undone(place)
		return outcome.Done(), nil
	}
	if ctx.Err() != nil {
		return outcome.Done(), context.Cause(ctx)
	}
	message := fmt.Sprintf("undoing step %s: %v", s.name, err)
	if wait, ok := as[*waitError](err); ok {
		r.journal.UndoWaits(place, wait.message)
		if wait.after > 0 {
			return outcome.Retry(wait.after, ReasonUndoing, message), nil
		}
		return outcome.Wait(ReasonUndoing, message), nil
	}
	now := r.cfg.Clock.Now()
	r.journal.UndoFailed(place, err.Error(), s.retry, now)
	return outcome.Retry(r.journal.Steps[place].NextAt.Sub(now), ReasonUndoing, message), nil
}

// guarded returns a panic as an error: the attempt failed.
func guarded(ctx context.Context, do func() (string, error)) (text string, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			for _, handle := range utilruntime.PanicHandlers { // as controller-runtime does; the default one logs the stack
				handle(ctx, recovered)
			}
			err = fmt.Errorf("the operator's code panicked: %v", recovered)
		}
	}()
	return do()
}
