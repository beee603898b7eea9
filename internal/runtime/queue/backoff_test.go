package queue

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// The delay doubles with every failed retry, up to the last one, and starts anew after a success.
func TestBackoff(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakePassiveClock(time.Now())
	limiter := NewBackoff[string](20*time.Millisecond, 100*time.Millisecond, clock)
	for _, want := range []time.Duration{20, 40, 80, 100, 100} {
		got := limiter.When("a")
		if got != want*time.Millisecond {
			t.Fatalf("the delay is %s, want %dms", got, want)
		}
		clock.SetTime(clock.Now().Add(got))
	}
	if n := limiter.NumRequeues("a"); n != 5 {
		t.Errorf("%d failures, want 5", n)
	}
	limiter.Forget("a")
	if got := limiter.When("a"); got != 20*time.Millisecond {
		t.Errorf("after a success, the delay is %s, want 20ms", got)
	}
}

// Failures of reconciles that events trigger before the planned retry do not postpone it.
func TestBackoffOfEvents(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakePassiveClock(time.Now())
	limiter := NewBackoff[string](20*time.Millisecond, time.Minute, clock)
	limiter.When("a")
	for left := 15 * time.Millisecond; left > 0; left -= 5 * time.Millisecond {
		clock.SetTime(clock.Now().Add(5 * time.Millisecond))
		if got := limiter.When("a"); got != left {
			t.Fatalf("the retry is due in %s, want %s", got, left)
		}
	}
	clock.SetTime(clock.Now().Add(5 * time.Millisecond))
	if got := limiter.When("a"); got != 40*time.Millisecond {
		t.Errorf("after the retry, the delay is %s, want 40ms", got)
	}
	if n := limiter.NumRequeues("a"); n != 5 {
		t.Errorf("%d failures, want 5", n)
	}
}
