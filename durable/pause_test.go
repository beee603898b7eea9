package durable_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// Work that waits or retries outside of a step does not prevent the undoing of the steps before. Undoing waits if a step that is done comes
// after it.
func TestCancelWhileTheWorkWaits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pause       func(*durable.Run) error
		first, then string // the outcomes before the run is canceled, and if the second step was done as well
	}{
		"waits": {
			func(run *durable.Run) error { return run.Wait("no Secret") },
			"wait: StepWaiting: no Secret", "wait: StepUndoing: the code waits before the step s1, which must be undone: no Secret",
		},
		"waits for a while": {
			func(run *durable.Run) error { return run.WaitFor(time.Minute, "no Secret") },
			"retry: StepWaiting: no Secret after 1m0s", "wait: StepUndoing: the code waits before the step s1, which must be undone: no Secret after 1m0s",
		},
		"retries": {func(run *durable.Run) error { return run.Retry(errRead) }, errRead.Error(), errRead.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, there := newWorld(), false
			do := func(ctx context.Context, run *durable.Run) error {
				if err := take(w.step("s0", nil))(ctx, run); err != nil {
					return err
				}
				if !there {
					return test.pause(run)
				}
				return errors.Join(take(w.step("s1", nil))(ctx, run), take(w.step("s2", durable.Wait("for the pod")))(ctx, run))
			}
			if got := shown(w.call(t, "", do)); got != test.first {
				t.Errorf("it came to %s, want %s", got, test.first)
			}
			for range 2 { // the second call finds the run over
				if o, err := w.call(t, "deleted", do); err != nil || o.Reason() != durable.ReasonCanceled || w.there() != "" || w.held {
					t.Fatalf("it came to %v, %v, with %q (held: %t)", o, err, w.there(), w.held)
				}
			}
			w.stored, there = "", true
			w.settle(t, "", do)
			there = false
			if got := shown(w.call(t, "deleted", do)); got != test.then || w.there() != "s0 s1" || !w.held {
				t.Errorf("it came to %s, with %q (held: %t), want %s", got, w.there(), w.held, test.then)
			}
			there = true
			if o := w.settle(t, "deleted", do); o.Reason() != durable.ReasonCanceled || w.there() != "" || w.held {
				t.Errorf("it came to %v, with %q (held: %t)", o, w.there(), w.held)
			}
		})
	}
}

var errRead = errors.New("the read failed")

// shown returns the outcome of a call, or its error.
func shown(o outcome.Outcome, err error) string {
	if err != nil {
		return err.Error()
	}
	if o.After() > 0 {
		return fmt.Sprintf("%s after %s", o, o.After())
	}
	return o.String()
}
