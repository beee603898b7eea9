package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable/journal"
)

// Retry is how often a step is tried, and how soon again. The zero value: five times, after a second
// and then ever later.
type Retry = journal.Retry

// Step is a piece of work that is done once. Name and Do are required.
type Step[T any] struct {
	// Name is the step's own in the run.
	Name string
	// Do does it. What it returns is stored as JSON, and must be short: see journal.MaxResult. An
	// error is a failed attempt; Wait and Fail make errors that are something else.
	Do func(ctx context.Context, attempt *Attempt) (T, error)
	// Undo takes back what was done, if the run fails or is cancelled. result is zero where the step
	// did not end: Attempt.Key tells what there may be. It is tried until it succeeds.
	Undo func(ctx context.Context, attempt *Attempt, result T) error
	// Finally cleans up after the step, whatever the run comes to: after its last step, or as Undo
	// does. A step has one of the two.
	Finally func(ctx context.Context, attempt *Attempt, result T) error
	// Retry is how often the step is tried.
	Retry Retry
	// Timeout is how long the step may take from its first attempt, all others and waiting included.
	// 0: as long as it likes.
	Timeout time.Duration
}

// Reader reads what a step depends on. The step is looked at again when that changes.
type Reader interface {
	// Get reads an object by kind, name and namespace, and returns false where there is none.
	Get(ctx context.Context, object client.Object) (bool, error)
	// List reads the objects that carry labels.
	List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error
}

// Attempt is what a step knows as it is done. What it reads by Get and List is watched while the
// step waits.
type Attempt struct {
	Reader
	// Key is the same in every attempt at this step, and of no other step: 32 hexadecimal digits. What
	// is made under it can be found again by the next attempt.
	Key string
	// Number counts the attempts, from 1.
	Number int
	// Client reads and writes without a cache, with the operator's rights.
	Client client.Client
	// REST is the connection of Client, for what takes streams.
	REST *rest.Config

	run   *Run
	place int
}

// Progress tells the user how far the step is, in a few words. It costs at most a write every two
// seconds.
func (a *Attempt) Progress(ctx context.Context, format string, args ...any) error {
	return a.run.progress(ctx, a.place, fmt.Sprintf(format, args...))
}

// waitError is what Wait and WaitFor return.
type waitError struct {
	message string
	after   time.Duration
}

func (e *waitError) Error() string { return e.message }

// Wait is the error of a step that cannot be done yet. It is looked at again when something that
// it read by its Attempt changes. The message is for people.
func Wait(message string) error { return &waitError{message: message} }

// WaitFor is Wait for what sends no event: the step is looked at again after a while, too.
func WaitFor(after time.Duration, message string) error {
	return &waitError{message: message, after: max(after, time.Millisecond)}
}

// failError is what Fail returns.
type failError struct{ error }

func (e *failError) Unwrap() error { return e.error }

// Fail is the error of a step that another attempt does not help.
func Fail(err error) error { return &failError{err} }

// StepError says that a step failed for good. The work may go on otherwise, or return it.
type StepError struct {
	Step    string
	Message string
}

func (e *StepError) Error() string { return fmt.Sprintf("step %s failed: %s", e.Step, e.Message) }

// Do does a step, unless it is done already, and returns what it came to. An error is for the
// caller to return, all but a *StepError, after which the work may also take another way.
func Do[T any](ctx context.Context, run *Run, step Step[T]) (T, error) {
	var result T
	plain, err := step.plain()
	if err != nil {
		return result, run.halt(&journal.ChangedError{Why: err.Error()})
	}
	text, err := run.do(ctx, plain)
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		return result, run.misread(fmt.Sprintf("what step %q came to", step.Name), result, err)
	}
	return result, nil
}

// plain is a step whose results are text.
type plain struct {
	name    string
	do      func(context.Context, *Attempt) (string, error)
	undo    func(context.Context, *Attempt, string) error
	finally bool
	retry   Retry
	timeout time.Duration
}

func (s Step[T]) plain() (plain, error) {
	p := plain{name: s.Name, retry: s.Retry, timeout: s.Timeout, finally: s.Finally != nil}
	if s.Do == nil {
		return p, fmt.Errorf("step %q has no Do", s.Name)
	}
	if s.Undo != nil && s.Finally != nil {
		return p, fmt.Errorf("step %q has both Undo and Finally: use Finally for both", s.Name)
	}
	p.do = func(ctx context.Context, a *Attempt) (string, error) {
		result, err := s.Do(ctx, a)
		if err != nil {
			return "", err
		}
		return encode(result)
	}
	if clean := s.cleaner(); clean != nil {
		p.undo = func(ctx context.Context, a *Attempt, text string) error {
			var result T
			if text != "" {
				if err := json.Unmarshal([]byte(text), &result); err != nil {
					return fmt.Errorf("what the step came to is not a %T any more: %w", result, err)
				}
			}
			return clean(ctx, a, result)
		}
	}
	return p, nil
}

func (s Step[T]) cleaner() func(context.Context, *Attempt, T) error {
	if s.Finally != nil {
		return s.Finally
	}
	return s.Undo
}

// encode makes text of a result which makes the same result again.
func encode[T any](result T) (string, error) {
	text, err := json.Marshal(result)
	if err == nil {
		err = json.Unmarshal(text, new(T))
	}
	if err != nil {
		return "", Fail(fmt.Errorf("its result, a %T, cannot be stored as JSON: %w", result, err))
	}
	return string(text), nil
}

// as finds an error of a type in another.
func as[E error](err error) (E, bool) { return errors.AsType[E](err) }
