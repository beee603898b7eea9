package runner

import (
	"testing"
	"time"
)

// An operator that is waited for longer when it is not known where a step leads is waited for as long when it did not get there.
func TestPaceWaitsForRetries(t *testing.T) {
	t.Parallel()
	for unsure, want := range map[time.Duration]time.Duration{0: timing.defaultSettle, time.Second: timing.defaultSettle, 7 * time.Second: 7 * time.Second} {
		if got := (Pace{Unsure: unsure}).withDefaults().Settle; got != want {
			t.Errorf("with Unsure %s, Settle is %s, want %s", unsure, got, want)
		}
	}
}
