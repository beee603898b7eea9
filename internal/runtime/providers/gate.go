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

// AwayError reports that a system does not answer. While it does not, it is asked ever more rarely, by
// one call for all resources.
type AwayError struct {
	System string
	// First is what the first call ended in, so that the message stays the same while it lasts.
	First error
	// after is when to come back.
	after time.Duration
}

func (e *AwayError) Error() string { return fmt.Sprintf("%s: %v", e.System, e.First) }

func (e *AwayError) Unwrap() error { return e.First }

// busyError reports that there are more calls than the rate allows.
type busyError struct {
	system string
	after  time.Duration
}

func (e *busyError) Error() string {
	return fmt.Sprintf("%s is rate limited", e.system)
}

// gates are those of all systems that are called.
type gates struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	all   map[gateKey]*gate
}

// gateKey tells systems apart. Other credentials are another system: whether they are good nobody
// knows yet.
type gateKey struct{ system, revision string }

// gate lets calls to one system pass.
type gate struct {
	gateKey
	clock  clock.PassiveClock
	tokens *rate.Limiter
	used   time.Time

	mu       sync.Mutex
	failures int       // in a row
	first    error     // of them
	until    time.Time // nobody passes before
	probing  bool      // one has passed since
	// failed are the owners whose calls failed in a row. While it is only one, others may call: its resource may be
	// what the system does not bear.
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

// sweep forgets systems that nobody called for long. The lock is held.
func (g *gates) sweep(now time.Time) {
	for key, old := range g.all {
		if now.Sub(old.used) > timing.idle {
			delete(g.all, key)
		}
	}
}

// pass lets a call pass, after a while where there are many, or says why not. Whoever passed says
// at the end what came of it.
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

// away returns an error while the system is left alone. After long enough, one call may try.
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

// left notes what a call came to. That the operator stops says nothing about the system.
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
		return // it was under way already when another one failed
	}
	g.until = g.clock.Now().Add(backoff(g.failures, timing.firstBackoff, timing.lastBackoff))
	g.failures++
}

// told is an error as it is told: of an outage, always the first.
func (g *gate) told(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failures == 0 {
		return fmt.Errorf("%s: %w", g.system, err)
	}
	return &AwayError{System: g.system, First: g.first, after: spread(max(g.until.Sub(g.clock.Now()), timing.firstBackoff))}
}

// backoff is how long to wait after so many failures before.
func backoff(failures int, first, last time.Duration) time.Duration {
	if failures > 20 {
		return last
	}
	return min(first<<failures, last)
}

// spread makes a time up to a tenth longer, so that not all come back at once.
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
