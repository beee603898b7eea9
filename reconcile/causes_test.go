package reconcile

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/cause"
	"github.com/operon-framework/operon/outcome"
)

func TestCausesOfEventsAndTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c causes
		key := types.NamespacedName{Name: "a"}
		taken := func(want ...cause.Kind) {
			t.Helper()
			got := c.take(key, time.Now()).Causes
			if len(got) != len(want) {
				t.Errorf("taken %v, want %v", got, want)
				return
			}
			for i := range got {
				if got[i].Kind != want[i] {
					t.Errorf("taken %v, want %v", got, want)
				}
			}
			if len(c.queued) > 0 {
				t.Errorf("%d objects are still held", len(c.queued))
			}
		}
		taken(cause.Unknown)
		c.add(key, cause.Cause{Kind: cause.SpecChanged})
		taken(cause.SpecChanged)

		c.schedule(key, cause.Cause{Kind: cause.StatusHeld}, time.Now().Add(time.Second))
		c.add(key, cause.Cause{Kind: cause.ChildChanged})
		taken(cause.ChildChanged) // the event came first
		taken(cause.Unknown)      // and took the timer along

		c.schedule(key, cause.Cause{Kind: cause.StatusHeld}, time.Now().Add(time.Second))
		time.Sleep(time.Second)
		c.add(key, cause.Cause{Kind: cause.ChildChanged})
		taken(cause.ChildChanged, cause.StatusHeld)

		c.schedule(key, cause.Cause{Kind: cause.RetryAfterError, Note: "refused"}, time.Time{})
		taken(cause.RetryAfterError)

		c.add(key, cause.Cause{Kind: cause.SpecChanged})
		early := c.take(key, time.Now())
		c.add(key, cause.Cause{Kind: cause.ChildChanged})
		c.putBack(key, early) // the pass came too early and was delayed
		c.schedule(key, cause.Cause{Kind: cause.Delayed}, time.Now())
		taken(cause.SpecChanged, cause.ChildChanged, cause.Delayed)
	})
}

func TestTimersAreNamedByTheOutcome(t *testing.T) {
	t.Parallel()
	for want, outcomes := range map[cause.Kind][]outcome.Outcome{
		cause.StatusHeld: {outcome.Wait("ChildNotReady", "x"), outcome.Retry(time.Second, "", "")},
		cause.SlowRetry:  {again(outcome.Stalled("Conflict", "x"))},
		cause.Timer:      {outcome.Retry(time.Minute, "Polling", "x")},
	} {
		p := &pass[client.Object]{outcomes: outcomes}
		if got := p.timer(p.outcome().After()); got.Kind != want {
			t.Errorf("%v come back for %v, want %s", outcomes, got, want)
		}
	}
}
