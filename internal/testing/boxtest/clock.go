package boxtest

import (
	"time"

	"k8s.io/utils/clock"
)

// Ahead is a clock that is ahead of the real one.
type Ahead struct {
	clock.RealClock
	By time.Duration
}

// Now implements clock.Clock.
func (a Ahead) Now() time.Time { return a.RealClock.Now().Add(a.By) }

// Since implements clock.Clock.
func (a Ahead) Since(at time.Time) time.Duration { return a.Now().Sub(at) }
