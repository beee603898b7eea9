package outcome_test

import (
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
