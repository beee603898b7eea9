package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/trigger"
)

func TestCausesOfEventsAndTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c Triggers
		key := types.NamespacedName{Name: "a"}
		taken := func(want ...trigger.Kind) {
			t.Helper()
			got := c.Take(key, time.Now()).Causes
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
		c.Add(key, trigger.Cause{Kind: trigger.SpecChanged})
		taken(trigger.SpecChanged)

		c.Schedule(key, trigger.Cause{Kind: trigger.StatusHeld}, time.Now().Add(time.Second))
		c.Add(key, trigger.Cause{Kind: trigger.ChildChanged})
		taken(trigger.ChildChanged) // the event came first
		taken(trigger.Unknown)      // and replaced the timer

		c.Schedule(key, trigger.Cause{Kind: trigger.StatusHeld}, time.Now().Add(time.Second))
		time.Sleep(time.Second)
		c.Add(key, trigger.Cause{Kind: trigger.ChildChanged})
		taken(trigger.ChildChanged, trigger.StatusHeld)

		c.Schedule(key, trigger.Cause{Kind: trigger.RetryAfterError, Note: "refused"}, time.Time{})
		taken(trigger.RetryAfterError)

		c.Add(key, trigger.Cause{Kind: trigger.SpecChanged})
		early := c.Take(key, time.Now())
		c.Add(key, trigger.Cause{Kind: trigger.ChildChanged})
		c.PutBack(key, early) // the reconcile came too early and was delayed
		c.Schedule(key, trigger.Cause{Kind: trigger.Delayed}, time.Now())
		taken(trigger.SpecChanged, trigger.ChildChanged, trigger.Delayed)
	})
}
