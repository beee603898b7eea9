package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// ReasonTimedOut: a reconcile exceeded its timeout.
const ReasonTimedOut = "TimedOut"

// TimeoutError reports that a step did not end in time.
type TimeoutError struct {
	Step  string
	Limit time.Duration
	// Err is the error that the step returned.
	Err error
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the reconcile exceeded its time limit of %s in step %s: %v", e.Limit, e.Step, e.Err)
}

func (e *TimeoutError) Unwrap() error { return e.Err }

// run runs a step: it measures it, names it in errors, and turns an error, or a panic of the author's
// code, into an outcome.
func (r *Reconciler[T]) run(ctx context.Context, s step[T], p *pass[T]) outcome.Outcome {
	started := time.Now()
	ctx, span := r.Tracer.Step(ctx, s.name)
	o, err := s.inTime(ctx, p, r.Timeout)
	if err != nil {
		o = s.failed(p, r.Mine != nil, err)
	}
	if s.aside && o.Kind() != outcome.KindStop {
		o = o.Aside()
	}
	p.entry.Step(s.name, time.Since(started), o)
	span.End(o.Kind().String(), o.Reason(), err)
	return o
}

// failed returns the outcome of a step that returned an error. shared means that several processes share the objects.
func (s step[T]) failed(p *pass[T], shared bool, err error) outcome.Outcome {
	if p.interrupted() {
		return outcome.Stop(0)
	}
	if (shared || s.name == stepReport) && apierrors.IsConflict(err) {
		return outcome.Stop(timing.firstLook) // another client wrote in the meantime, which the cache is about to deliver
	}
	if errors.Is(err, errOvertaken) {
		return outcome.Stop(timing.lookAgain) // until the cache shows it; there may be nothing to report to any more
	}
	return explain(err).With(fmt.Errorf("%s: %w", s.name, err))
}

// inTime runs a step with a timeout. After the timeout, every result of the step is
// replaced by a TimeoutError.
func (s step[T]) inTime(ctx context.Context, p *pass[T], limit time.Duration) (outcome.Outcome, error) {
	limited, cancel := s.limit(ctx, p, limit)
	defer cancel()
	o, err := guarded(limited, s, p)
	done := err == nil && o.Kind() == outcome.KindDone
	if done || ctx.Err() != nil || !errors.Is(limited.Err(), context.DeadlineExceeded) || is[*panicError](err) {
		return o, err
	}
	if err == nil {
		err = errors.New(o.Message())
	}
	return o, &TimeoutError{Step: s.name, Limit: limit, Err: err}
}

// limit ends the context of a step at the timeout of the reconcile. The status is reported
// in any case: the author's part of that has the same timeout again, writing it has no limit.
func (s step[T]) limit(ctx context.Context, p *pass[T], limit time.Duration) (context.Context, context.CancelFunc) {
	switch {
	case limit == 0 || s.name == stepReport:
		return ctx, func() {}
	case s.last:
		return context.WithTimeout(ctx, limit)
	}
	return context.WithDeadline(ctx, p.entry.Began().Add(limit))
}

// guarded runs a step and returns a panic of the author's code as an error.
func guarded[T client.Object](ctx context.Context, s step[T], p *pass[T]) (o outcome.Outcome, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			for _, handle := range utilruntime.PanicHandlers { // as controller-runtime does; the default one logs the stack
				handle(ctx, recovered)
			}
			err = &panicError{recovered}
		}
	}()
	return s.run(ctx, p)
}
