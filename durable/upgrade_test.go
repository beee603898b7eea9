package durable_test

import (
	"context"
	"errors"
	"testing"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
)

// A want is compared as its type has it now: a new field that is zero begins no run, and another value does.
func TestBeginAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	type old struct{ Version string }
	type now struct {
		Version string
		Mirror  string
	}
	w := newWorld()
	for _, run := range []struct {
		begin func(*durable.Run) error
		want  int32
	}{
		{wants(old{"1"}), 1},
		{wants(now{"1", ""}), 1},
		{wants(old{"1"}), 1},
		{wants(now{"1", "local"}), 2},
		{wants(now{"2", "local"}), 3},
		{wants([]string{"2"}), 4},
	} {
		w.settle(t, "", func(ctx context.Context, r *durable.Run) error {
			return errors.Join(run.begin(r), take(w.step("s0", nil))(ctx, r))
		})
		if got := w.read().Run; got != run.want {
			t.Errorf("with %s it is run %d, want %d", w.read().Input, got, run.want)
		}
	}
}

// wants begins a run.
func wants[W any](want W) func(*durable.Run) error {
	return func(run *durable.Run) error {
		_, err := durable.Begin(run, want)
		return err
	}
}

// A new version of the code that fails before a recorded step does not fail the run: the version that began it can still continue it.
func TestChangedCodeThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.settle(t, "", take(w.step("s0", durable.Wait("for the pod"))))
	run := durable.New(durable.Config{Object: "uid", Journal: w.read(), Clock: w.clock})
	_, err := run.Carry(t.Context(), func(context.Context, *durable.Run) error { return errors.New("the spec is invalid") })
	if _, ok := errors.AsType[*journal.ChangedError](err); !ok || run.Journal().Phase != journal.Running {
		t.Errorf("the error is %v, and the run is %s", err, run.Journal().Phase)
	}
}
