package runner

import (
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/prove/quiesce"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// If a pace waits longer when no state is expected, it waits at least as long when the expected state is not reached.
func TestPaceWaitsForRetries(t *testing.T) {
	t.Parallel()
	for unsure, want := range map[time.Duration]time.Duration{0: timing.defaultSettle, time.Second: timing.defaultSettle, 7 * time.Second: 7 * time.Second} {
		if got := (Pace{Unsure: unsure}).withDefaults().Settle; got != want {
			t.Errorf("with Unsure %s, Settle is %s, want %s", unsure, got, want)
		}
	}
}

// A step without an expected state is not over before an operator that polls has looked again.
func TestPaceWaitsForPolls(t *testing.T) {
	t.Parallel()
	pace := Pace{}.withDefaults()
	for period, want := range map[time.Duration]time.Duration{0: pace.Unsure, pace.Unsure / 4: pace.Unsure, pace.Unsure: 2 * pace.Unsure} {
		times := pace.times(requestlog.Rhythm{{Verb: "get", Every: period}, {Verb: "list", Every: period / 2}})
		if got := quiesce.Enough(times, quiesce.Step{Reached: true}, 1); got != want {
			t.Errorf("with requests every %s, a step is over after %s, want %s", period, got, want)
		}
	}
}

// A step may take longer than the time for which an operator has to be quiet at its end, whatever the user's --settle is: otherwise no state
// that differs could be confirmed.
func TestPatienceIsEnough(t *testing.T) {
	t.Parallel()
	for _, settle := range []time.Duration{0, time.Second, 6 * time.Second, 30 * time.Second} {
		for _, pause := range []time.Duration{0, 10 * time.Second, 45 * time.Second} {
			pace := Pace{Settle: 10 * settle, Unsure: 3 * settle, Listen: 2 * settle, Pause: pause}.WithPatience(time.Minute).withDefaults()
			for _, step := range []quiesce.Step{{}, {Reconciling: true}, {Reached: true, Unready: true}, {Reached: true, First: true}} {
				if needed := 2*pause + quiesce.Enough(pace.times(nil), step, 1); pace.Patience <= needed {
					t.Errorf("with --settle %s and two pauses of %s, %+v needs %s, and ends after %s", settle, pause, step, needed, pace.Patience)
				}
			}
		}
	}
}

// The time for a retry follows from the number of failures in a row, and from the time between the last two, and is limited.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for failed, want := range map[requestlog.Failures]time.Duration{
		{}:                                    0,
		{InARow: 1}:                           10 * time.Millisecond,
		{InARow: 10}:                          5120 * time.Millisecond,
		{InARow: 60}:                          timing.longestBackoff,
		{InARow: 2, Apart: 5 * time.Second}:   12500 * time.Millisecond,
		{InARow: 3, Apart: time.Minute}:       timing.longestBackoff,
		{InARow: 11, Apart: time.Millisecond}: 10240 * time.Millisecond,
	} {
		if got := backoff(failed); got != want {
			t.Errorf("after %d failures, the last two %s apart, a step waits for %s, want %s", failed.InARow, failed.Apart, got, want)
		}
	}
}
