package clusterwatch

import (
	"testing"
	"time"
)

// A beat that has not ended shows that the cluster is slow, before it ends.
func TestPulseOfAHangingCluster(t *testing.T) {
	t.Parallel()
	w := &Witness{}
	if got := w.Slowness(); got != 1 {
		t.Errorf("without a beat, the slowness is %.1f", got)
	}
	w.pulse.began = time.Now().Add(-10 * time.Second)
	if got := w.Slowness(); got != slowest {
		t.Errorf("10 s after the beginning of a beat, the slowness is %.1f", got)
	}
	w.pulse.end(3 * timing.usual)
	for range beats - 1 {
		w.pulse.end(timing.usual)
	}
	if got := w.Slowness(); got != 3 {
		t.Errorf("the slowness is %.1f, want that of the slowest beat", got)
	}
	w.pulse.end(timing.usual)
	if got := w.Slowness(); got != 1 {
		t.Errorf("later, the slowness is %.1f", got)
	}
}
