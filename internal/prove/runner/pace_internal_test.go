package runner

import (
	"testing"
	"time"
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
