package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// ReasonTimedOut: a reconcile took longer than it may.
const ReasonTimedOut = "TimedOut"

// stepReport names the step that nothing keeps from being run.
const stepReport = "report"

// TimeoutError says that a step did not end in time.
type TimeoutError struct {
	Step  string
	Limit time.Duration
	// Err is what the step ended with.
	Err error
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the reconcile takes longer than %s, in its step %s: %v", e.Limit, e.Step, e.Err)
}

func (e *TimeoutError) Unwrap() error { return e.Err }

// limit ends the context of a step when the pass has had its time. The status is told
// whatever happened: the author's part in that has as long again, the writing of it no limit.
func (r *Reconciler[T]) limit(ctx context.Context, s step[T], p *pass[T]) (context.Context, context.CancelFunc) {
	switch {
	case r.Timeout == 0 || s.name == stepReport:
		return ctx, func() {}
	case s.last:
		return context.WithTimeout(ctx, r.Timeout)
	}
	return context.WithDeadline(ctx, p.began.Add(r.Timeout))
}

// inTime runs a step within its time. Whatever it ends with when that is over, the time is
// the reason.
func (r *Reconciler[T]) inTime(ctx context.Context, s step[T], p *pass[T]) (outcome.Outcome, error) {
	limited, cancel := r.limit(ctx, s, p)
	defer cancel()
	o, err := guarded(limited, s, p)
	done := err == nil && o.Kind() == outcome.KindDone
	if done || ctx.Err() != nil || !errors.Is(limited.Err(), context.DeadlineExceeded) || is[*panicError](err) {
		return o, err
	}
	if err == nil {
		err = errors.New(o.Message())
	}
	return o, &TimeoutError{Step: s.name, Limit: r.Timeout, Err: err}
}

func guarded[T client.Object](ctx context.Context, s step[T], p *pass[T]) (o outcome.Outcome, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			err = newPanicError(recovered)
		}
	}()
	return s.run(ctx, p)
}
