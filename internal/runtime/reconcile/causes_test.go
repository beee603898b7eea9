package reconcile

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/trigger"
)

func TestCausesOfEventsAndTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c causes
		key := types.NamespacedName{Name: "a"}
		taken := func(want ...trigger.Kind) {
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
		taken(trigger.Unknown)
		c.add(key, trigger.Cause{Kind: trigger.SpecChanged})
		taken(trigger.SpecChanged)

		c.schedule(key, trigger.Cause{Kind: trigger.StatusHeld}, time.Now().Add(time.Second))
		c.add(key, trigger.Cause{Kind: trigger.ChildChanged})
		taken(trigger.ChildChanged) // the event came first
		taken(trigger.Unknown)      // and took the timer along

		c.schedule(key, trigger.Cause{Kind: trigger.StatusHeld}, time.Now().Add(time.Second))
		time.Sleep(time.Second)
		c.add(key, trigger.Cause{Kind: trigger.ChildChanged})
		taken(trigger.ChildChanged, trigger.StatusHeld)

		c.schedule(key, trigger.Cause{Kind: trigger.RetryAfterError, Note: "refused"}, time.Time{})
		taken(trigger.RetryAfterError)

		c.add(key, trigger.Cause{Kind: trigger.SpecChanged})
		early := c.take(key, time.Now())
		c.add(key, trigger.Cause{Kind: trigger.ChildChanged})
		c.putBack(key, early) // the pass came too early and was delayed
		c.schedule(key, trigger.Cause{Kind: trigger.Delayed}, time.Now())
		taken(trigger.SpecChanged, trigger.ChildChanged, trigger.Delayed)
	})
}

func TestTimersAreNamedByTheOutcome(t *testing.T) {
	t.Parallel()
	for want, outcomes := range map[trigger.Kind][]outcome.Outcome{
		trigger.StatusHeld: {outcome.Wait("ChildNotReady", "x"), outcome.Retry(time.Second, "", "")},
		trigger.SlowRetry:  {again(outcome.Stalled("Conflict", "x"))},
		trigger.Timer:      {outcome.Retry(time.Minute, "Polling", "x")},
	} {
		p := &pass[client.Object]{outcomes: outcomes}
		if got := p.timer(p.outcome().After()); got.Kind != want {
			t.Errorf("%v come back for %v, want %s", outcomes, got, want)
		}
	}
}
