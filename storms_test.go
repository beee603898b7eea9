package operon_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
)

// calm is a rate at which a test can tell a storm from what is let through.
const calm = 5

// Whatever changes all the time, the object is reconciled no more often than its rate
// allows, another one is not disturbed, and the last change counts.
func TestStormsAreDelayedAndNotLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var passes atomic.Int64
	w.run(compose(func(b *Box, out *operon.Composition) error {
		if b.Name == "hot" {
			passes.Add(1)
		}
		return copies(b, out)
	}), operon.RateLimit(calm, time.Second))
	hot := w.box("hot", map[string]string{"n": "0"})
	w.isReady(hot)
	before, started, changes := passes.Load(), time.Now(), 0
	for time.Since(started) < 3*time.Second {
		changes++
		w.change(hot, func() { hot.Spec.Data["n"] = strconv.Itoa(changes) })
		if changes == 20 {
			w.isReady(w.box("calm", nil))
		}
	}
	took := time.Since(started)
	w.holds(config("hot", nil), map[string]string{"n": strconv.Itoa(changes)})
	allowed := int64(calm + took/time.Second + 2)
	if got := passes.Load() - before; got > allowed {
		t.Errorf("%d changes in %s led to %d reconciles, want at most %d", changes, took, got, allowed)
	}
	t.Logf("%d changes in %s: %d reconciles", changes, took, passes.Load()-before)
}

// An author's code that changes what it is reconciled for goes round no faster than its
// rate, and the user is told when that lasts.
func TestCodeThatTriggersItselfIsSlowedAndTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const burst = 20
	clock := clocktesting.NewFakeClock(time.Now())
	var observed atomic.Int64
	restless := observing{copies, func(ctx context.Context, b *Box, _ *operon.Observed) error {
		changed := b.DeepCopyObject().(*Box)
		changed.Annotations = map[string]string{"passes": strconv.FormatInt(observed.Add(1), 10)}
		return w.client.Patch(ctx, changed, client.MergeFrom(b))
	}}
	w.runWith(w.Config, operon.Config{Namespace: w.Namespace, Clock: clock},
		operon.API(addBox), operon.Manage(restless, operon.RateLimit(burst, 10*time.Second)))
	w.box("restless", nil)
	exactly := func(want int64) func(context.Context) error {
		return func(context.Context) error {
			if got := observed.Load(); got != want {
				return fmt.Errorf("reconciled %d times, want %d", got, want)
			}
			return nil
		}
	}
	w.eventually("the burst", exactly(burst))
	w.still("reconciles after the burst", exactly(burst))
	clock.Step(40 * time.Second)
	w.poke(&Box{ObjectMeta: w.meta("restless")})
	w.eventually("four more reconciles", exactly(burst+4))
	w.event("Delayed", "once every 10s")
}
