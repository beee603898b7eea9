package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errLost is why a context of work ends whose right was lost.
var errLost = errors.New("the object belongs to another replica now")

// Lost reports whether a context ended because the object belongs to another replica now: nothing that is done
// under it is of use any more.
func Lost(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errLost) }

// LostError reports that a request was not sent, as the object belongs to another replica now, or may be.
type LostError struct{ Method, Path string }

func (e *LostError) Error() string {
	return fmt.Sprintf("%s %s was not sent: the object belongs to another replica now, or may soon be", e.Method, e.Path)
}

// grant is the right to work on the objects of a slot, from its opening until it is given up.
type grant struct {
	mu sync.Mutex
	// closing: no work is begun any more. revoked: none is done.
	closing, revoked bool
	passes           map[*pass]bool
	// flights are writes that are not answered yet; doubtful is until when one that was never
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

// passKey is under which a context holds a pass.
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

// tell wakes who waits for a change. The lock is held.
func (g *grant) tell() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// send begins a write, if there is still the right to.
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

// answered ends a write. One without an answer may take effect until a time.
func (p *pass) answered(doubtful time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flights--
	if doubtful.After(p.doubtful) {
		p.doubtful = doubtful
	}
	p.tell()
}

// close lets no further pass begin.
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

// revoke lets nothing be sent any more. Passes end as if the operator were told to stop.
func (g *grant) revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing, g.revoked = true, true
	for p := range g.passes {
		p.end(errLost)
	}
	g.tell()
}

// interrupt ends the passes that are under way. Others may begin.
func (g *grant) interrupt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.passes {
		p.end(errLost)
	}
}

// await waits until a condition holds, at most until ctx ends.
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

// drain gives passes a while to end, revokes the rest, and returns when nothing that was sent can
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

// wait waits for a while, unless ctx ends before.
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
