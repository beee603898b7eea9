package journal

import (
	"fmt"
	"slices"
	"time"
)

// Next is how to handle a step that the work has reached.
type Next string

const (
	// Begin: record that an attempt begins, then run it.
	Begin Next = "begin"
	// Look: the step waits. Check whether it can continue. Nothing has to be written first.
	Look Next = "look"
	// Later: not before the step's NextAt.
	Later Next = "later"
	// Recall: the step is done. Its result is in the journal.
	Recall Next = "recall"
	// Fail: the step failed for good. The journal has the reason.
	Fail Next = "fail"
	// Stop: the work cannot go further.
	Stop Next = "stop"
)

// ChangedError reports that the steps of the code are not those in the journal.
type ChangedError struct{ Why string }

func (e *ChangedError) Error() string {
	return e.Why + "; the steps of a workflow that has started must not change: run the version of the operator that started it, delete the object, or remove status.journal if the workflow may start over"
}

// Reach returns what to do about the step that the work reaches at a place, counted from 0.
func (j *Journal) Reach(place int, name string, now time.Time) (Next, error) {
	if j.Phase.Over() {
		return j.recall(place, name), nil
	}
	if place >= len(j.Steps) {
		return j.reachNew(place, name)
	}
	step := &j.Steps[place]
	if step.Name != name {
		return Stop, &ChangedError{Why: fmt.Sprintf("step %d of the journal is %q, but the code now runs %q there", place+1, step.Name, name)}
	}
	switch {
	case step.State == StepDone || step.Result != "" && j.Phase == Finishing:
		return Recall, nil
	case step.State == StepFailed:
		return Fail, nil
	case j.Phase != Running:
		return Stop, nil
	case step.State == StepWaiting:
		return Look, nil
	case step.State == StepRetrying && now.Before(step.NextAt.Time):
		return Later, nil
	}
	return Begin, nil // again, if the process that started it is gone
}

// recall is Reach for a run that has ended. It does not matter whether the code has changed since then.
func (j *Journal) recall(place int, name string) Next {
	if place >= len(j.Steps) || j.Steps[place].Name != name {
		return Stop
	}
	switch step := &j.Steps[place]; {
	case step.State == StepFailed:
		return Fail
	case step.State == StepDone || j.Phase == Succeeded && step.Result != "":
		return Recall
	}
	return Stop
}

// reachNew is Reach for a step that the journal does not have yet.
func (j *Journal) reachNew(place int, name string) (Next, error) {
	switch {
	case j.Phase == Finishing:
		return Stop, &ChangedError{Why: fmt.Sprintf("the workflow had finished after %d steps, but the code now runs the step %q after them", len(j.Steps), name)}
	case j.Phase != Running:
		return Stop, nil
	case name == "":
		return Stop, &ChangedError{Why: fmt.Sprintf("step %d has no name", place+1)}
	case slices.ContainsFunc(j.Steps, func(s Step) bool { return s.Name == name }):
		return Stop, &ChangedError{Why: fmt.Sprintf("two steps are named %q", name)}
	case len(j.Steps) >= MaxSteps:
		return Stop, &ChangedError{Why: fmt.Sprintf("step %q is one more than the %d that a run may have", name, MaxSteps)}
	}
	return Begin, nil
}

// Begun records an attempt of the step at a place, for which Reach returned Begin.
func (j *Journal) Begun(place int, name string, now time.Time) {
	if place == len(j.Steps) {
		j.Steps = append(j.Steps, Step{Name: name, StartedAt: at(now)})
	}
	s := &j.Steps[place]
	s.State, s.NextAt, s.Message = StepRunning, nil, ""
	s.Attempts++
}

// Done records the result of a step. A result that is too long fails the step and is an error.
func (j *Journal) Done(place int, result string, now time.Time) error {
	total := len(j.Input) + len(result)
	for _, s := range j.Steps {
		total += len(s.Result)
	}
	switch {
	case len(result) > MaxResult:
		return fmt.Errorf("its result has %d bytes as JSON, at most %d can be stored: store it elsewhere, and return its location", len(result), MaxResult)
	case total > MaxTotal:
		return fmt.Errorf("the results of the run have %d bytes as JSON with this one, at most %d can be stored: store them elsewhere, and return the location", total, MaxTotal)
	}
	s := &j.Steps[place]
	s.State, s.Result, s.EndedAt = StepDone, result, at(now)
	s.Message, s.Progress, s.NextAt, s.Failures = "", "", nil, 0
	return nil
}

// Wait records that the step at a place waits.
func (j *Journal) Wait(place int, message string) {
	s := &j.Steps[place]
	s.State, s.Message, s.NextAt, s.Failures = StepWaiting, short(message), nil, 0
}

// Retry configures how often a step is attempted, and with which backoff.
type Retry struct {
	// Attempts is how many consecutive attempts may fail. 0: five. An attempt that a crash ended does not count as
	// failed.
	Attempts int
	// First is the delay after the first failure. It doubles with each further failure. 0: one second.
	First time.Duration
	// Max is the longest delay. 0: five minutes.
	Max time.Duration
}

const retryAttempts = 5

func (r Retry) limit() int32 {
	if r.Attempts > 0 {
		return int32(r.Attempts)
	}
	return retryAttempts
}

// after returns the delay before the next attempt, after a number of failures.
func (r Retry) after(failures int32) time.Duration {
	wait, most := r.First, r.Max
	if wait <= 0 {
		wait = timing.retryFirst
	}
	if most <= 0 {
		most = timing.retryMax
	}
	for ; failures > 1 && wait < most; failures-- {
		wait *= 2
	}
	return min(wait, most)
}

// Failed records that an attempt failed. It reports whether that was the last one.
func (j *Journal) Failed(place int, message string, final bool, retry Retry, now time.Time) (last bool) {
	s := &j.Steps[place]
	s.Failures++
	s.Message = short(message)
	if final || s.Failures >= retry.limit() {
		s.State, s.EndedAt, s.NextAt = StepFailed, at(now), nil
		return true
	}
	s.State, s.NextAt = StepRetrying, at(now.Add(retry.after(s.Failures)))
	return false
}

// Finish records that the code of a run returned after a number of steps. The cleanup is still due.
func (j *Journal) Finish(steps int) error {
	if j.Phase != Running {
		return nil
	}
	if steps < len(j.Steps) {
		return &ChangedError{Why: fmt.Sprintf("the journal has the step %q, which the code no longer runs", j.Steps[steps].Name)}
	}
	j.Phase = Finishing
	return nil
}

// Break ends a run that cannot continue. The steps that were done will be undone.
func (j *Journal) Break(message string) {
	if j.Phase == Running {
		j.Phase, j.Message = Undoing, short(message)
	}
}

// Cancel cancels a run. It has no effect on one that has ended.
func (j *Journal) Cancel(why string) {
	if j.Phase == Running {
		j.Phase, j.Canceled, j.Message = Undoing, true, short(why)
	}
}

// Undo returns the step to undo next, the last one first, of those that can be undone, and whether to do so now or
// Later. If there is none, ok is false.
func (j *Journal) Undo(can func(place int) bool, now time.Time) (place int, next Next, ok bool) {
	for place = len(j.Steps) - 1; place >= 0; place-- {
		s := &j.Steps[place]
		if s.State == StepUndone || !can(place) {
			continue
		}
		if s.State == StepUndoing && s.NextAt != nil && now.Before(s.NextAt.Time) {
			return place, Later, true
		}
		return place, Begin, true
	}
	return 0, Stop, false
}

// UndoBegun records that the compensation of a step begins.
func (j *Journal) UndoBegun(place int) {
	s := &j.Steps[place]
	if s.State != StepUndoing {
		s.Failures = 0
	}
	s.State, s.NextAt, s.Message = StepUndoing, nil, ""
}

// UndoFailed records that the compensation of a step failed. It is retried until it succeeds, because otherwise
// the effects of the step would remain.
func (j *Journal) UndoFailed(place int, message string, retry Retry, now time.Time) {
	s := &j.Steps[place]
	s.Failures++
	s.Message, s.NextAt = short(message), at(now.Add(retry.after(s.Failures)))
}

// UndoWaits records that the compensation of a step waits for something.
func (j *Journal) UndoWaits(place int, message string) {
	s := &j.Steps[place]
	s.Message, s.NextAt = short(message), nil
}

// Undone records that a step is undone.
func (j *Journal) Undone(place int) {
	s := &j.Steps[place]
	s.State, s.NextAt, s.Message, s.Failures = StepUndone, nil, "", 0
}

// Close ends the run if nothing is left to undo.
func (j *Journal) Close(now time.Time) {
	switch {
	case j.Phase == Finishing:
		j.Phase = Succeeded
	case j.Phase == Undoing && j.Canceled:
		j.Phase = Canceled
	case j.Phase == Undoing:
		j.Phase = Failed
	default:
		return
	}
	j.FinishedAt = at(now)
}
