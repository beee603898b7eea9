package providers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/operon-framework/operon/external"
)

// AwayError reports that a system does not respond. Meanwhile, one call for all resources tries it at growing intervals.
type AwayError struct {
	System string
	// First is the error of the first call. It keeps the message constant during an outage.
	First error
	// after is the delay before the next attempt.
	after time.Duration
}

func (e *AwayError) Error() string { return fmt.Sprintf("%s: %v", e.System, e.First) }

func (e *AwayError) Unwrap() error { return e.First }

// busyError reports that the rate limit is exceeded.
type busyError struct {
	system string
	after  time.Duration
}

func (e *busyError) Error() string {
	return fmt.Sprintf("%s is rate limited", e.system)
}

// gates contains the gates of all called systems.
type gates struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	all   map[gateKey]*gate
}

// gateKey identifies a system. With other credentials, it counts as another system, because it is not known whether they are
// valid.
type gateKey struct{ system, revision string }

// gate controls the calls to one system.
type gate struct {
	gateKey
	clock  clock.PassiveClock
	tokens *rate.Limiter
	used   time.Time

	mu       sync.Mutex
	failures int       // in a row
	first    error     // of these failures
	until    time.Time // no call passes before
	probing  bool      // one call has passed since
	// failed contains the owners whose calls failed in a row. While there is only one, other owners may call: the system may
	// fail only because of that owner's resource.
	failed map[types.NamespacedName]bool
}

// of returns the gate of a kind's system.
func (g *gates) of(k Kind) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, key := g.clock.Now(), gateKey{k.System, k.Revision}
	if g.all == nil {
		g.all = map[gateKey]*gate{}
	}
	found := g.all[key]
	if found == nil {
		g.sweep(now)
		found = &gate{gateKey: key, clock: g.clock, tokens: rate.NewLimiter(rate.Every(k.Every), k.Burst)}
		g.all[key] = found
	}
	found.used = now
	return found
}

// sweep removes systems that were not called for a long time. The lock is held.
func (g *gates) sweep(now time.Time) {
	for key, old := range g.all {
		if now.Sub(old.used) > timing.idle {
			delete(g.all, key)
		}
	}
}

// pass admits a call, with a delay if there are many, or returns the reason why not. The caller must report the result of the
// call to left.
func (g *gate) pass(ctx context.Context, owner types.NamespacedName) (left func(error), err error) {
	if err := g.away(owner); err != nil {
		return nil, err
	}
	turn := g.tokens.ReserveN(g.clock.Now(), 1)
	wait := turn.DelayFrom(g.clock.Now())
	if wait > timing.maxQueue {
		turn.Cancel()
		g.left(ctx, owner, nil, false)
		return nil, &busyError{system: g.system, after: wait}
	}
	if err := sleep(ctx, wait); err != nil {
		g.left(ctx, owner, nil, false)
		return nil, err
	}
	return func(err error) { g.left(ctx, owner, err, true) }, nil
}

// away returns an error during an outage. After some time, one call may try the system.
func (g *gate) away(owner types.NamespacedName) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	if g.failures == 0 || g.onlyAnother(owner) {
		return nil
	}
	if g.probing || now.Before(g.until) {
		return &AwayError{System: g.system, First: g.first, after: spread(max(g.until.Sub(now), timing.firstBackoff))}
	}
	g.probing = true
	return nil
}

// onlyAnother reports whether only calls for one other owner failed. The lock is held.
func (g *gate) onlyAnother(owner types.NamespacedName) bool {
	return len(g.failed) == 1 && !g.failed[owner]
}

// left records the result of a call. A call that ended because the operator stops says nothing about the system.
func (g *gate) left(ctx context.Context, owner types.NamespacedName, err error, called bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.onlyAnother(owner) {
		g.probing = false
	}
	if !called || ctx.Err() != nil {
		return
	}
	if class := external.ClassOf(err); err == nil || class == external.Refused || class == external.Garbage {
		if !g.onlyAnother(owner) {
			g.failures, g.first, g.failed = 0, nil, nil
		}
		return
	}
	if g.failed == nil {
		g.failed = map[types.NamespacedName]bool{}
	}
	g.failed[owner] = true
	if g.failures == 0 || external.ClassOf(err) != external.ClassOf(g.first) {
		g.first = err
	}
	if g.clock.Now().Before(g.until) {
		return // it had already begun when another call failed
	}
	g.until = g.clock.Now().Add(backoff(g.failures, timing.firstBackoff, timing.lastBackoff))
	g.failures++
}

// told returns the error to report: during an outage, always the first one.
func (g *gate) told(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failures == 0 {
		return fmt.Errorf("%s: %w", g.system, err)
	}
	return &AwayError{System: g.system, First: g.first, after: spread(max(g.until.Sub(g.clock.Now()), timing.firstBackoff))}
}

// backoff returns the delay after a number of failures.
func backoff(failures int, first, last time.Duration) time.Duration {
	if failures > 20 {
		return last
	}
	return min(first<<failures, last)
}

// spread extends a duration randomly by up to a tenth, so that calls do not coincide.
func spread(d time.Duration) time.Duration {
	return d + time.Duration(rand.Int64N(int64(d)/10+1))
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
