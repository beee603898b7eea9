package outcome_test

import (
	"errors"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/core/outcome"
)

func TestCombine(t *testing.T) {
	t.Parallel()
	wait := outcome.Wait("Children", "waits for a child")
	later := outcome.Retry(time.Minute, "Away", "is away")
	soon := outcome.Retry(time.Second, "Busy", "is busy")
	stalled := outcome.Stalled("Invalid", "cannot be")
	failed := outcome.Retry(0, "ReconcileFailed", "conflict")
	tests := []struct {
		name     string
		in       []outcome.Outcome
		want     outcome.Outcome
		after    time.Duration
		backsOff bool
	}{
		{name: "nothing", want: outcome.Done()},
		{name: "done", in: []outcome.Outcome{outcome.Done(), outcome.Done()}, want: outcome.Done()},
		{name: "wait tells more than done", in: []outcome.Outcome{outcome.Done(), wait}, want: wait},
		{name: "the first of equals", in: []outcome.Outcome{wait, outcome.Wait("Other", "")}, want: wait},
		{name: "retry tells more than wait", in: []outcome.Outcome{wait, later}, want: later, after: time.Minute},
		{name: "the soonest retry", in: []outcome.Outcome{later, soon}, want: later, after: time.Second},
		{name: "a stall keeps the retry", in: []outcome.Outcome{soon, stalled}, want: stalled, after: time.Second},
		{name: "another look puts no error off", in: []outcome.Outcome{outcome.Again(time.Minute), failed}, want: failed, backsOff: true},
		{name: "nor does another retry", in: []outcome.Outcome{later, failed}, want: later, backsOff: true},
		{name: "nor a stall", in: []outcome.Outcome{failed, stalled, outcome.Combine(failed, later)}, want: stalled, backsOff: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := outcome.Combine(test.in...)
			if got.Kind() != test.want.Kind() || got.Reason() != test.want.Reason() || got.After() != test.after || got.BacksOff() != test.backsOff {
				t.Errorf("got %v after %v (backs off: %v), want %v after %v", got, got.After(), got.BacksOff(), test.want, test.after)
			}
		})
	}
}

// Data of outcomes other than their kind is retained when they are combined, and an outcome that is reported aside ends
// nothing.
func TestWhatOutcomesCarry(t *testing.T) {
	t.Parallel()
	refused, away := errors.New("refused"), errors.New("away")
	combined := outcome.Combine(
		outcome.Done().Soon(true),
		outcome.Wait("Children", "waits for a child").With(refused),
		outcome.Again(time.Minute).Aside(),
		outcome.Retry(0, "Away", "is away").With(away),
	)
	if !combined.IsSoon() || !errors.Is(combined.Err(), refused) || !errors.Is(combined.Err(), away) {
		t.Errorf("%v, soon: %v, error: %v; want both errors, and soon", combined, combined.IsSoon(), combined.Err())
	}
	if outcome.Combine(outcome.Done(), outcome.Done().Soon(false)).IsSoon() {
		t.Error("nobody asked for another reconcile at once")
	}
	for o, ends := range map[outcome.Outcome]bool{
		outcome.Done():                       false,
		outcome.Again(time.Minute):           false,
		outcome.Wait("Children", ""):         true,
		outcome.Wait("Children", "").Aside(): false,
		outcome.Stalled("Invalid", ""):       true,
		outcome.Stop(0):                      true,
	} {
		if o.Ends() != ends {
			t.Errorf("%v ends the reconcile: %v, want %v", o, o.Ends(), ends)
		}
	}
}

// A stop wins over everything else, and keeps the earliest time.
func TestStopWins(t *testing.T) {
	t.Parallel()
	combined := outcome.Combine(outcome.Stalled("Invalid", "cannot be"), outcome.Retry(time.Hour, "Away", ""), outcome.Stop(time.Second))
	if combined.Kind() != outcome.KindStop || combined.After() != time.Second {
		t.Errorf("%v after %s, want a stop after 1s", combined.Kind(), combined.After())
	}
}
