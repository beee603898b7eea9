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

// Retry configures how often a step is attempted, and with which delay. The zero value: five attempts, with a
// backoff that starts at one second and increases.
type Retry = journal.Retry

// Step is a piece of work that is done once. Name and Do are required.
type Step[T any] struct {
	// Name is unique in the run.
	Name string
	// Do does the step. Its result is stored as JSON and must be short: see journal.MaxResult. An error is a
	// failed attempt, unless Wait, WaitFor or Fail returned it.
	Do func(ctx context.Context, attempt *Attempt) (T, error)
	// Undo is the compensation of the step. It runs if the run fails or is canceled. result is zero if the step did not
	// complete: use Attempt.Key to find what it may have created. Undo is retried until it succeeds.
	Undo func(ctx context.Context, attempt *Attempt, result T) error
	// Finally is the cleanup of the step. It runs whether or not the run succeeds: after the last step, or as Undo
	// does. A step has either Undo or Finally.
	Finally func(ctx context.Context, attempt *Attempt, result T) error
	// Retry configures how often the step is attempted.
	Retry Retry
	// Timeout is the time limit of the step from its first attempt on, including all other attempts and waiting.
	// 0: no limit.
	Timeout time.Duration
}

// Reader reads objects that a step depends on. The step is attempted again when they change.
type Reader interface {
	// Get reads an object by kind, name and namespace, and returns false if it does not exist.
	Get(ctx context.Context, object client.Object) (bool, error)
	// List reads the objects that have the labels.
	List(ctx context.Context, list client.ObjectList, labels client.MatchingLabels, options ...client.ListOption) error
}

// Attempt is passed to a step when it runs. Objects that it reads by Get and List are watched while the step waits.
type Attempt struct {
	Reader
	// Key is the idempotency key of the step: the same in each of its attempts, and different from that of any
	// other step. It has 32 hexadecimal digits. The next attempt can find what was created under it.
	Key string
	// Number counts the attempts, from 1.
	Number int
	// Client reads and writes without a cache, with the permissions of the operator.
	Client client.Client
	// REST is the connection of Client, for streams.
	REST *rest.Config

	run   *Run
	place int
}

// Progress reports to the user how far the step is, in a few words. It writes at most once every two seconds.
func (a *Attempt) Progress(ctx context.Context, format string, args ...any) error {
	return a.run.progress(ctx, a.place, fmt.Sprintf(format, args...))
}

// waitError is the error that Wait and WaitFor return.
type waitError struct {
	message string
	after   time.Duration
}

func (e *waitError) Error() string { return e.message }

// Wait returns the error of a step that cannot be done yet. The step is attempted again when something changes that it read
// through its Attempt. The message is for people.
func Wait(message string) error { return &waitError{message: message} }

// WaitFor is Wait for something that sends no event: the step is also attempted again after the duration.
func WaitFor(after time.Duration, message string) error {
	return &waitError{message: message, after: max(after, time.Millisecond)}
}

// failError is the error that Fail returns.
type failError struct{ error }

func (e *failError) Unwrap() error { return e.error }

// Fail returns the error of a step for which another attempt is pointless.
func Fail(err error) error { return &failError{err} }

// StepError reports that a step failed for good. The work may continue with other steps, or return the error.
type StepError struct {
	Step    string
	Message string
}

func (e *StepError) Error() string { return fmt.Sprintf("step %s failed: %s", e.Step, e.Message) }

// Do runs a step, unless it is done already, and returns its result. The caller must return an error unchanged,
// except for a *StepError, after which the work may also continue with other steps.
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

// plain is a step whose results are encoded as text.
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

// encode returns a text that decodes to the same result.
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

// as returns an error of a type that another error wraps.
func as[E error](err error) (E, bool) { return errors.AsType[E](err) }
