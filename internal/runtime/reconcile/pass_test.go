package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// API servers quote values in their errors, and controller-runtime logs what a reconciliation returns with each retry.
func TestReturnedErrorsAreCut(t *testing.T) {
	t.Parallel()
	cause := errors.New(strings.Repeat("x", 1<<20))
	_, err := resultOf(outcome.Retry(0, "Failed", "it failed").With(cause))
	if err == nil || len(err.Error()) > outcome.MaxMessage+64 {
		t.Errorf("an error with %d bytes", len(err.Error()))
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}

// A reconcile may finish after the operator has to stop, but not after its life.
func TestReconcilesEndWithTheOperator(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(t.Context())
	ctx, stop := context.WithCancel(During(t.Context(), life))
	own, release := finish(ctx)
	defer release()
	stop()
	select {
	case <-own.Done():
		t.Error("it ends when the operator has to stop")
	case <-time.After(10 * time.Millisecond):
	}
	end()
	select {
	case <-own.Done():
	case <-time.After(time.Minute):
		t.Error("it continues after the life of the operator")
	}
}

// What a watch showed during a reconcile leads to another one, also if this one ended with an error that is final for the object as it was read.
func TestNewsAfterAnError(t *testing.T) {
	t.Parallel()
	cause := errors.New("the spec is wrong")
	stalled := outcome.Stalled("Invalid", cause.Error()).With(cause)
	for name, test := range map[string]struct {
		outcome      outcome.Outcome
		again, fails bool
	}{
		"final, without news":     {stalled, false, false},
		"final, with news":        {stalled.Soon(true), true, false},
		"temporary, with news":    {outcome.Retry(0, "Failed", "it failed").With(cause).Soon(true), false, true},
		"temporary, without news": {outcome.Retry(0, "Failed", "it failed").With(cause), false, true},
	} {
		result, err := resultOf(test.outcome)
		if (result.RequeueAfter > 0) != test.again || (err != nil) != test.fails {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}
