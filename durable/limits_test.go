package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// The timeout of a step cancels its attempt.
func TestTimeoutEndsTheAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	step := w.step("s0", nil)
	step.Timeout = 10 * time.Millisecond
	step.Do = func(ctx context.Context, _ *durable.Attempt) (string, error) {
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			t.Error("it goes on")
		}
		w.clock.SetTime(w.clock.Now().Add(step.Timeout))
		return "", ctx.Err()
	}
	if o := w.settle(t, "", take(step)); o.Kind() != outcome.KindStalled || !strings.Contains(o.Message(), "it is not done after 10ms: context deadline exceeded") {
		t.Errorf("it came to %v", o)
	}
}

// An attempt that was interrupted because the operator stopped does not count as failed.
func TestAttemptThatIsCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld()
	step := w.step("s0", nil)
	step.Retry.Attempts = 1
	do := step.Do
	step.Do = func(ctx context.Context, a *durable.Attempt) (string, error) {
		if a.Number > 1 {
			return do(ctx, a)
		}
		w.crash(errCrash)
		return "", ctx.Err()
	}
	if o := w.settle(t, "", take(step)); o.Kind() != outcome.KindDone || w.there() != "s0" {
		t.Errorf("it came to %v, with %q", o, w.there())
	}
}

// Completed steps are undone, regardless of how often that fails.
func TestUndoIsTriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld()
	step := w.step("s0", nil)
	undo, tries := step.Undo, 0
	step.Undo = func(ctx context.Context, a *durable.Attempt, result string) error {
		if tries++; tries < 20 {
			return errors.New("away")
		}
		return undo(ctx, a, result)
	}
	o := w.settle(t, "", func(ctx context.Context, run *durable.Run) error {
		return errors.Join(take(step)(ctx, run), take(w.step("s1", durable.Fail(errors.New("no"))))(ctx, run))
	})
	if tries != 20 || w.there() != "" || o.Kind() != outcome.KindStalled || w.held {
		t.Errorf("it came to %v after %d tries, with %q (held: %t)", o, tries, w.there(), w.held)
	}
}

// The want of a run does not change until the run is over.
func TestAnotherWantWaits(t *testing.T) {
	t.Parallel()
	w := newWorld()
	want, ready := 1, false
	carry := func(ctx context.Context, run *durable.Run) error {
		now, err := durable.Begin(run, want)
		if err != nil {
			return err
		}
		step := w.step(fmt.Sprintf("to-%d", now), nil)
		if !ready {
			step.Do = func(context.Context, *durable.Attempt) (string, error) { return "", durable.Wait("for the pod") }
		}
		return take(step)(ctx, run)
	}
	w.settle(t, "", carry)
	want = 2
	w.settle(t, "", carry)
	ready = true
	w.settle(t, "", carry)
	if all := []string{"do to-1", "do to-2"}; !slices.Equal(w.calls, all) {
		t.Errorf("what was done is %q, want %q", w.calls, all)
	}
}

// Progress is not written with every report.
func TestProgressIsSparing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	step := w.step("s0", nil)
	step.Do = func(ctx context.Context, a *durable.Attempt) (string, error) {
		for i := range 40 {
			w.clock.SetTime(w.clock.Now().Add(100 * time.Millisecond))
			if err := a.Progress(ctx, "%d of 40", i+1); err != nil {
				return "", err
			}
		}
		return "", nil
	}
	w.settle(t, "", take(step))
	if w.saves != 4 { // the beginning, two within four seconds, and the end
		t.Errorf("there were %d writes, want 4", w.saves)
	}
}

// A run does not continue with a journal that cannot be read.
func TestUnreadableJournal(t *testing.T) {
	t.Parallel()
	w := newWorld()
	newer := `{"steps":{"s0":{"made":true}},"version":7}`
	w.stored = newer
	for _, cancel := range []string{"", "wanted"} {
		_, err := w.call(t, cancel, take(w.step("s0", nil)))
		if _, ok := errors.AsType[*journal.UnreadableError](err); !ok || w.stored != newer || len(w.calls) > 0 {
			t.Errorf("canceled %q: the error is %v, the journal %s, and the steps did %q", cancel, err, w.stored, w.calls)
		}
	}
}

// oneWay can be stored but not read back.
type oneWay struct{ Err error }

// Exceeding a limit is reported, and the run is undone.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	many := func(n int, result string) func(*world) work {
		return func(w *world) work {
			return func(ctx context.Context, run *durable.Run) error {
				for i := range n {
					step := w.step(fmt.Sprint(i), nil)
					step.Do = func(context.Context, *durable.Attempt) (string, error) { return result, nil }
					if _, err := durable.Do(ctx, run, step); err != nil {
						return err
					}
				}
				return nil
			}
		}
	}
	for name, test := range map[string]struct {
		work func(*world) work
		want string
	}{
		"steps":   {many(journal.MaxSteps+1, ""), fmt.Sprintf("is one more than the %d that a run may have", journal.MaxSteps)},
		"results": {many(journal.MaxTotal/(journal.MaxResult-2)+1, strings.Repeat("x", journal.MaxResult-2)), "the results of the run have"},
		"artifacts": {func(*world) work {
			return func(_ context.Context, run *durable.Run) error {
				for i := range journal.MaxArtifacts + 1 {
					run.Artifact(fmt.Sprint(i), "")
				}
				return nil
			}
		}, fmt.Sprintf("is one of %d", journal.MaxArtifacts+1)},
		"of a type": {func(*world) work {
			return take(durable.Step[oneWay]{Name: "s", Do: func(context.Context, *durable.Attempt) (oneWay, error) {
				return oneWay{errors.New("no")}, nil
			}})
		}, "its result, a durable_test.oneWay, cannot be stored as JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			o, err := w.call(t, "", test.work(w))
			if told := fmt.Sprint(o.Message(), err); o.Kind() == outcome.KindDone && err == nil || !strings.Contains(told, test.want) {
				t.Errorf("it came to %v, %v; want %q", o, err, test.want)
			}
		})
	}
}

// An artifact that cannot be stored fails the run, and completed steps are undone.
func TestArtifactThatCannotBeStored(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"s3://cellar/a": "", strings.Repeat("x", journal.MaxArtifact): `the artifact "dump" has 2048 bytes`} {
		w, looks := newWorld(), 0
		o := w.settle(t, "", func(ctx context.Context, run *durable.Run) error {
			err := take(w.step("s0", nil))(ctx, run)
			for i := range journal.MaxArtifacts - 1 {
				run.Artifact(fmt.Sprint(i), "other")
			}
			if err == nil {
				run.Artifact("dump", value)
			}
			return errors.Join(err, take(durable.Step[int]{Name: "later", Do: func(context.Context, *durable.Attempt) (int, error) {
				if looks++; looks == 1 {
					return 0, durable.WaitFor(time.Second, "so that the code is called again")
				}
				return 0, nil
			}})(ctx, run))
		})
		if !strings.Contains(o.Message(), want) || (w.there() == "") != (want != "") || (o.Kind() == outcome.KindStalled) != (want != "") {
			t.Errorf("it came to %v, with %q", o, w.there())
		}
	}
}
