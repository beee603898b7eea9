package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errLost is the cause when the context of work ends because the grant was lost.
var errLost = errors.New("the object belongs to another replica now")

// Lost reports whether a context ended because the object belongs to another replica now: further work
// under it has no effect.
func Lost(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errLost) }

// LostError reports that a request was not sent, because the object belongs to another replica now, or may do so.
type LostError struct{ Method, Path string }

func (e *LostError) Error() string {
	return fmt.Sprintf("%s %s was not sent: the object belongs to another replica now, or may soon be", e.Method, e.Path)
}

// grant is the right to work on the objects of a slot, from its opening until it is given up.
type grant struct {
	mu sync.Mutex
	// closing means that no work may begin any more, and revoked that no work may be done.
	closing, revoked bool
	passes           map[*pass]bool
	// flights are writes that are not answered yet; doubtful is the time until which a write that was never
	// answered may still take effect.
	flights  int
	doubtful time.Time
	// changed is closed when a pass or a flight ends.
	changed chan struct{}
}

func newGrant() *grant {
	return &grant{passes: map[*pass]bool{}, changed: make(chan struct{})}
}

// pass is work on one object.
type pass struct {
	*grant
	slot int
	end  context.CancelCauseFunc
}

// passKey is the context key of a pass.
type passKey struct{}

func passOf(ctx context.Context) *pass {
	p, _ := ctx.Value(passKey{}).(*pass)
	return p
}

// enter begins a pass, unless the grant is being given up.
func (g *grant) enter(ctx context.Context, slot int) (context.Context, *pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing || g.revoked {
		return ctx, nil
	}
	p := &pass{grant: g, slot: slot}
	ctx, p.end = context.WithCancelCause(context.WithValue(ctx, passKey{}, p))
	g.passes[p] = true
	return ctx, p
}

// leave ends a pass.
func (p *pass) leave() {
	p.end(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.passes, p)
	p.tell()
}

// tell wakes the goroutines that wait for a change. The lock is held.
func (g *grant) tell() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// send begins a write, if the grant is still valid.
func (p *pass) send() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revoked {
		p.end(errLost)
		return false
	}
	p.flights++
	return true
}

// answered ends a write. A write without a response may take effect until a time.
func (p *pass) answered(doubtful time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flights--
	if doubtful.After(p.doubtful) {
		p.doubtful = doubtful
	}
	p.tell()
}

// close prevents further passes from beginning.
func (g *grant) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing = true
}

func (g *grant) isClosing() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closing
}

// revoke prevents further writes. Passes end as if the operator had to stop.
func (g *grant) revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing, g.revoked = true, true
	for p := range g.passes {
		p.end(errLost)
	}
	g.tell()
}

// interrupt ends the running passes. Others may begin.
func (g *grant) interrupt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.passes {
		p.end(errLost)
	}
}

// await waits until a condition holds, or until ctx ends.
func (g *grant) await(ctx context.Context, holds func() bool) {
	for {
		g.mu.Lock()
		done, changed := holds(), g.changed
		g.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// drain waits some time for passes to end, revokes the rest, and returns when no write that was sent can
// take effect any more.
func (g *grant) drain(life context.Context, while time.Duration) {
	g.close()
	patient, cancel := context.WithTimeout(life, while)
	g.await(patient, func() bool { return len(g.passes) == 0 })
	cancel()
	g.revoke()
	g.await(life, func() bool { return g.flights == 0 })
	g.mu.Lock()
	doubtful := time.Until(g.doubtful)
	g.mu.Unlock()
	wait(life, doubtful)
}

// wait waits for a duration, unless ctx ends before.
func wait(ctx context.Context, while time.Duration) {
	if while <= 0 {
		return
	}
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
