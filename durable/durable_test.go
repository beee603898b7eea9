package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// errCrash ends a process: nothing that the process does afterwards has an effect.
var errCrash = errors.New("crashed")

// world is the state outside of a process: the stored journal, and the effects of steps.
type world struct {
	stored  string
	version int
	clock   *clocktesting.FakePassiveClock
	held    bool
	saves   int

	made  map[string]string // by key: the existing things
	calls []string          // executed actions, in order

	// crashAt selects the point at which the next process crashes.
	crashAt, passed int
	crash           context.CancelCauseFunc
}

func newWorld() *world {
	return &world{made: map[string]string{}, clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))}
}

// point is a place where a process may crash.
func (w *world) point() error {
	w.passed++
	if w.passed == w.crashAt {
		w.crash(errCrash)
		return errCrash
	}
	return nil
}

func (w *world) read() *journal.Journal {
	if w.stored == "" {
		return nil
	}
	j := &journal.Journal{}
	if err := json.Unmarshal([]byte(w.stored), j); err != nil {
		panic(err) // this test wrote the text
	}
	return j
}

// process is an operator that has read the journal of the world.
type process struct {
	*world
	version int
}

func (p *process) save(_ context.Context, j *journal.Journal) (*journal.Journal, error) {
	if err := p.point(); err != nil {
		return nil, err
	}
	if p.version != p.world.version {
		return nil, durable.ErrSuperseded
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	p.stored = string(text)
	p.world.version++
	p.version = p.world.version
	p.saves++
	if err := p.point(); err != nil {
		return nil, err
	}
	return p.read(), nil
}

func (p *process) confirm(context.Context) error {
	if p.version != p.world.version {
		return durable.ErrSuperseded
	}
	return nil
}

type work func(context.Context, *durable.Run) error

// call executes one reconcile.
func (w *world) call(t *testing.T, cancel string, do work) (outcome.Outcome, error) {
	t.Helper()
	p := &process{world: w, version: w.version}
	ctx, crash := context.WithCancelCause(t.Context())
	defer crash(nil)
	w.crash = crash
	run := durable.New(durable.Config{
		Object: "uid", Journal: w.read(), Cancel: cancel, Clock: w.clock,
		Save:    p.save,
		Confirm: p.confirm,
		Hold:    func(context.Context) error { w.held = true; return w.point() },
		Release: func(context.Context) error { w.held = false; return w.point() },
	})
	o, err := run.Carry(ctx, do)
	if err != nil {
		return o, err
	}
	if text, _ := json.Marshal(run.Journal()); run.Journal() != nil && string(text) != w.stored {
		_, err = p.save(ctx, run.Journal())
	}
	return o, err
}

// settle repeats the call until nothing is left to do. It continues after a crash.
func (w *world) settle(t *testing.T, cancel string, do work) outcome.Outcome {
	t.Helper()
	for range 100 {
		o, err := w.call(t, cancel, do)
		switch {
		case errors.Is(err, errCrash):
			continue
		case err != nil:
			t.Fatal(err)
		case o.Kind() == outcome.KindRetry:
			w.clock.SetTime(w.clock.Now().Add(o.After()))
		default:
			return o
		}
	}
	t.Fatal("it does not settle")
	return outcome.Done()
}

// step returns a step that creates a thing with the step's name, once for its key.
func (w *world) step(name string, then error) durable.Step[string] {
	return durable.Step[string]{
		Name: name,
		Do: func(_ context.Context, a *durable.Attempt) (string, error) {
			if err := w.point(); err != nil {
				return "", err
			}
			if then != nil {
				return "", then
			}
			w.made[a.Key] = name
			w.calls = append(w.calls, "do "+name)
			return name, w.point()
		},
		Undo: func(_ context.Context, a *durable.Attempt, result string) error {
			if err := w.point(); err != nil {
				return err
			}
			delete(w.made, a.Key)
			w.calls = append(w.calls, "undo "+name)
			return w.point()
		},
	}
}

// there returns the names of the existing things.
func (w *world) there() string {
	var names []string
	for _, name := range w.made {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func chain(w *world, last error) work {
	return func(ctx context.Context, run *durable.Run) error {
		for i := range 3 {
			if _, err := durable.Do(ctx, run, w.step(fmt.Sprintf("s%d", i), nil)); err != nil {
				return err
			}
		}
		_, err := durable.Do(ctx, run, w.step("s3", last))
		return err
	}
}

// Regardless of where a process crashes, the next one reaches the same final state. Nothing is done twice or left behind.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cancel string
		last   error
		end    journal.Phase
		there  string
	}{
		"succeeds": {end: journal.Succeeded, there: "s0 s1 s2 s3"},
		"fails":    {last: durable.Fail(errors.New("refused")), end: journal.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calm := newWorld()
			calm.settle(t, test.cancel, chain(calm, test.last))
			if calm.passed < 15 {
				t.Fatalf("a process passes only %d points at which it may crash", calm.passed)
			}
			for at := range calm.passed {
				w := newWorld()
				w.crashAt = at + 1
				w.settle(t, test.cancel, chain(w, test.last))
				if w.passed <= calm.passed-1 || w.read().Phase != test.end || w.there() != test.there || w.held {
					t.Errorf("after a crash at point %d it is %s, with %q (held: %t), want %s with %q", at+1, w.read().Phase, w.there(), w.held, test.end, test.there)
				}
				w.atMostTwice(t, at+1)
			}
		})
	}
}

// atMostTwice checks that only the interrupted step is repeated.
func (w *world) atMostTwice(t *testing.T, at int) {
	t.Helper()
	counts, again := map[string]int{}, 0
	for _, call := range w.calls {
		counts[call]++
		if counts[call] > 1 {
			again++
		}
	}
	if again > 1 {
		t.Errorf("after a crash at point %d more than the interrupted step was done again: %q", at, w.calls)
	}
}

// A run needs one write for each step, and one for its end.
func TestWrites(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.settle(t, "", chain(w, nil))
	if w.saves != 5 {
		t.Errorf("4 steps took %d writes, want 5", w.saves)
	}
	w.settle(t, "", chain(w, nil))
	if w.saves != 5 || len(w.calls) != 4 {
		t.Errorf("a run that is over did %q with %d writes", w.calls, w.saves)
	}
}

// If two operators overlap, only one of them begins a step.
func TestOverlap(t *testing.T) {
	t.Parallel()
	w := newWorld()
	var second outcome.Outcome
	var err error
	first := w.step("only", nil)
	do := first.Do
	first.Do = func(ctx context.Context, a *durable.Attempt) (string, error) {
		if a.Number == 1 {
			second, err = w.call(t, "", chain(w, nil)) // another leader, while this one is frozen
		}
		return do(ctx, a)
	}
	first.Name = "s0"
	_, late := w.call(t, "", func(ctx context.Context, run *durable.Run) error {
		_, err := durable.Do(ctx, run, first)
		if err != nil {
			return err
		}
		_, err = durable.Do(ctx, run, w.step("s1", nil))
		return err
	})
	if err != nil || second.Kind() != outcome.KindDone {
		t.Errorf("the new leader came to %v, %v", second, err)
	}
	if !errors.Is(late, durable.ErrSuperseded) {
		t.Errorf("the old leader came to %v, want it to know that it is superseded", late)
	}
	if w.there() != "only s1 s2 s3" && w.there() != "s0 s1 s2 s3" {
		t.Errorf("there is %q", w.there())
	}
	if want := []string{"do s0", "do s1", "do s2", "do s3", "do only"}; !slices.Equal(w.calls, want) {
		t.Errorf("what was done is %q, want %q: the old leader ends the step that it is in, and begins none", w.calls, want)
	}
}

// An operator does not check a waiting step if another operator has continued the run since it read the journal. The check
// writes nothing, so no conflict would show this.
func TestOverlapWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld()
	ready := false
	step := w.step("s0", nil)
	do := step.Do
	step.Do = func(ctx context.Context, a *durable.Attempt) (string, error) {
		if !ready {
			return "", durable.Wait("for the pod")
		}
		return do(ctx, a)
	}
	w.settle(t, "", take(step))
	ready = true
	_, late := w.call(t, "", func(ctx context.Context, run *durable.Run) error {
		w.settle(t, "", take(step)) // another leader, while this one is frozen
		return take(step)(ctx, run)
	})
	if !errors.Is(late, durable.ErrSuperseded) || !slices.Equal(w.calls, []string{"do s0"}) {
		t.Errorf("the old leader came to %v, want it to know that it is superseded; the steps did %q", late, w.calls)
	}
}

// A step reports what it waits for, is retried, and fails when it times out.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	type result struct{ Bad func() }
	waits := durable.Step[string]{Name: "s", Do: func(context.Context, *durable.Attempt) (string, error) { return "", durable.Wait("for the pod") }}
	limited := waits
	limited.Timeout = time.Minute
	for name, test := range map[string]struct {
		do    work
		want  string
		after time.Duration
	}{
		"waits":                      {take(waits), "wait: StepWaiting: step s: for the pod", 0},
		"waits at most for its time": {take(limited), "retry: StepWaiting: step s: for the pod", time.Minute},
		"waits for a while": {take(durable.Step[int]{Name: "s", Do: func(context.Context, *durable.Attempt) (int, error) {
			return 0, durable.WaitFor(time.Hour, "for the tide")
		}}), "retry: StepWaiting: step s: for the tide", time.Hour},
		"is tried again": {take(durable.Step[int]{Name: "s", Do: func(context.Context, *durable.Attempt) (int, error) {
			return 0, errors.New("away")
		}}), "retry: StepRetrying: step s: away", time.Second},
		"panics": {take(durable.Step[int]{Name: "s", Do: func(context.Context, *durable.Attempt) (int, error) {
			panic("oh")
		}}), "retry: StepRetrying: step s: the operator's code panicked: oh", time.Second},
		"fails": {take(durable.Step[int]{Name: "s", Do: func(context.Context, *durable.Attempt) (int, error) {
			return 0, durable.Fail(errors.New("no"))
		}}), "stalled: StepFailed: step s failed: no", 0},
		"refuses":           {func(context.Context, *durable.Run) error { return errors.New("never") }, "stalled: StepFailed: never", 0},
		"has nothing to do": {func(context.Context, *durable.Run) error { return nil }, "done", 0},
		"is no JSON": {take(durable.Step[result]{Name: "s", Do: func(context.Context, *durable.Attempt) (result, error) {
			return result{func() {}}, nil
		}}), "stalled: StepFailed: step s failed: its result, a durable_test.result, cannot be stored as JSON: json: unsupported type: func()", 0},
		"is too long": {take(durable.Step[string]{Name: "s", Do: func(context.Context, *durable.Attempt) (string, error) {
			return strings.Repeat("x", journal.MaxResult), nil
		}}), "stalled: StepFailed: step s failed: its result has 16386 bytes as JSON, at most 16384 can be stored: store it elsewhere, and return its location", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			o, err := w.call(t, "", test.do)
			if err != nil || o.String() != test.want || o.After() != test.after {
				t.Errorf("it came to %s after %s, %v; want %s after %s", o, o.After(), err, test.want, test.after)
			}
		})
	}
}

// take returns work that consists of one step.
func take[T any](step durable.Step[T]) work {
	return func(ctx context.Context, run *durable.Run) error {
		_, err := durable.Do(ctx, run, step)
		return err
	}
}

// A step whose result cannot be stored is undone, together with the steps before it.
func TestResultThatCannotBeStored(t *testing.T) {
	t.Parallel()
	w := newWorld()
	o := w.settle(t, "", func(ctx context.Context, run *durable.Run) error {
		if _, err := durable.Do(ctx, run, w.step("s0", nil)); err != nil {
			return err
		}
		long := w.step("s1", nil)
		do := long.Do
		long.Do = func(ctx context.Context, a *durable.Attempt) (string, error) {
			result, err := do(ctx, a)
			return strings.Repeat(result, journal.MaxResult), err
		}
		_, err := durable.Do(ctx, run, long)
		return err
	})
	if o.Kind() != outcome.KindStalled || w.there() != "" || w.held {
		t.Errorf("it came to %v, with %q (held: %t)", o, w.there(), w.held)
	}
}

// A step that exceeds its time limit fails, even if it only waits, and across restarts.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld()
	step := w.step("s0", nil)
	step.Timeout = time.Minute
	step.Do = func(context.Context, *durable.Attempt) (string, error) { return "", durable.Wait("for ever") }
	if o := w.settle(t, "", take(step)); !strings.Contains(o.Message(), "it is not done after 1m0s") {
		t.Errorf("it came to %v", o)
	}
}

// A run that is canceled undoes what was done, and stays canceled.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld()
	waits := func(ctx context.Context, run *durable.Run) error {
		return errors.Join(take(w.step("s0", nil))(ctx, run), take(w.step("s1", durable.Wait("for the pod")))(ctx, run))
	}
	w.settle(t, "", waits)
	if w.there() != "s0" || !w.held {
		t.Fatalf("there is %q (held: %t) before", w.there(), w.held)
	}
	if o := w.settle(t, "the user wants it", waits); o.Reason() != durable.ReasonCanceled || w.there() != "" || w.held {
		t.Errorf("it came to %v, with %q (held: %t)", o, w.there(), w.held)
	}
	if want := []string{"do s0", "undo s1", "undo s0"}; !slices.Equal(w.calls, want) {
		t.Errorf("what was done is %q, want %q", w.calls, want)
	}
}

// A different want starts a new run when the run for the first want is over. The same want never starts another run.
func TestBegin(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for _, want := range []int{1, 1, 2} {
		w.settle(t, "", func(ctx context.Context, run *durable.Run) error {
			now, err := durable.Begin(run, want)
			if err != nil {
				return err
			}
			return take(w.step(fmt.Sprintf("to-%d", now), nil))(ctx, run)
		})
	}
	if want := []string{"do to-1", "do to-2"}; !slices.Equal(w.calls, want) {
		t.Errorf("what was done is %q, want %q", w.calls, want)
	}
	if w.read().Run != 2 {
		t.Errorf("it is run %d", w.read().Run)
	}
}

// The cleanup runs at the end, regardless of the result.
func TestFinally(t *testing.T) {
	t.Parallel()
	for _, last := range []error{nil, durable.Fail(errors.New("no"))} {
		w := newWorld()
		w.settle(t, "", func(ctx context.Context, run *durable.Run) error {
			quiesce := w.step("quiesce", nil)
			quiesce.Undo, quiesce.Finally = nil, quiesce.Undo
			if err := take(quiesce)(ctx, run); err != nil {
				return err
			}
			dump := w.step("dump", last)
			dump.Undo = nil
			return take(dump)(ctx, run)
		})
		if strings.Contains(w.there(), "quiesce") || w.calls[len(w.calls)-1] != "undo quiesce" || w.held {
			t.Errorf("with %v, there is %q after %q (held: %t)", last, w.there(), w.calls, w.held)
		}
	}
}

// If the code no longer contains a recorded step, the run stops and is not changed.
func TestChangedCode(t *testing.T) {
	t.Parallel()
	w := newWorld()
	waits := durable.Wait("for the pod")
	w.settle(t, "", func(ctx context.Context, run *durable.Run) error {
		return errors.Join(take(w.step("s0", nil))(ctx, run), take(w.step("s1", waits))(ctx, run))
	})
	before := w.stored
	for name, test := range map[string]struct {
		changed work
		want    string
	}{
		"another step": {take(w.step("s2", nil)), `step 1 of the journal is "s0", but the code now runs "s2" there`},
		"a step less":  {take(w.step("s0", nil)), "which the code no longer runs"},
		"another type": {take(durable.Step[int]{Name: "s0", Do: func(context.Context, *durable.Attempt) (int, error) { return 0, nil }}), `what step "s0" came to is not a int any more`},
		"no step":      {func(context.Context, *durable.Run) error { return nil }, "which the code no longer runs"},
	} {
		for _, cancel := range []string{"", "wanted"} {
			_, err := w.call(t, cancel, test.changed)
			if _, ok := errors.AsType[*journal.ChangedError](err); !ok || w.stored != before || cancel == "" && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, canceled %q: the error is %v, and the journal %s", name, cancel, err, w.stored)
			}
		}
	}
}
