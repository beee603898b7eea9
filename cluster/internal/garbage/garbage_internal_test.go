package garbage

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

func TestTarget(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		live, limit uint64
		want        int
	}{
		{0, 768 * mib, atRest}, {110 * mib, 768 * mib, 200}, {300 * mib, 768 * mib, 150}, {460 * mib, 768 * mib, atRest},
		{900 * mib, 768 * mib, atRest}, {110 * mib, 128 * mib, atRest},
	} {
		if got := target(c.live, c.limit); got != c.want {
			t.Errorf("%d of %d MiB: %d", c.live/mib, c.limit/mib, got)
		}
	}
}

// The target is high while garbage is collected, and low afterwards. This test is not parallel to others that collect garbage.
func TestAdjust(t *testing.T) {
	before := timing
	t.Cleanup(func() { timing = before })
	timing.period, timing.quiet = 5*time.Millisecond, 200*time.Millisecond
	t.Setenv("GOGC", "")
	users := debug.SetGCPercent(atRest)
	t.Cleanup(func() { debug.SetGCPercent(users) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	adjust := Target()
	go func() { defer close(done); adjust(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	awaitPercent := func(want int, meanwhile func()) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
			meanwhile()
			return readPercent() == want, nil
		})
		if err != nil {
			t.Fatalf("the target is %d, not %d", readPercent(), want)
		}
	}
	awaitPercent(busy, func() { waste = make([]byte, 1<<20) })
	awaitPercent(atRest, func() {})
}

// waste is allocated so that it becomes garbage.
var waste []byte

func readPercent() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}
