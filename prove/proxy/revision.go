package proxy

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/operon-framework/operon/prove/record"
)

// clock is what the proxy knows of the course of versions.
type clock struct {
	newest atomic.Uint64

	mu     sync.Mutex
	writes []uint64 // the newest version before each effective write of the operator
	marks  map[string]uint64
	shown  map[change]bool // events that were counted
}

// change is what an event is about: a version is that of one object only.
type change struct {
	version uint64
	kind    string
}

// saw notes a version that passed.
func (c *clock) saw(one uint64) {
	for {
		newest := c.newest.Load()
		if one <= newest || c.newest.CompareAndSwap(newest, one) {
			return
		}
	}
}

// maxKept bounds what a clock remembers of each sort.
const maxKept = 1 << 16

// wrote notes an effective write, and the newest version before it. Leases and events do not
// count: they come at any time.
func (c *clock) wrote(r *record.Request, before uint64) {
	if !counts(r) || r.Resource == "events" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.writes) == maxKept {
		c.writes = slices.Delete(c.writes, 0, maxKept/2)
	}
	c.writes = append(c.writes, before)
}

// first tells whether an event is shown for the first time, by whichever watch.
func (c *clock) first(one change) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown[one] {
		return false
	}
	if c.shown == nil || len(c.shown) == maxKept {
		c.shown = map[change]bool{}
	}
	c.shown[one] = true
	return true
}

// before returns the newest version before the last writes, a number of them.
func (c *clock) before(writes int) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.writes) == 0 {
		return c.newest.Load()
	}
	return c.writes[max(0, len(c.writes)-writes)]
}

// Mark notes the moment under a name, for faults that lead back to the end of a step.
func (p *Proxy) Mark(ctx context.Context, step string) {
	now := p.revision(ctx)
	p.clock.mu.Lock()
	defer p.clock.mu.Unlock()
	if p.clock.marks == nil {
		p.clock.marks = map[string]uint64{}
	}
	p.clock.marks[step] = now
}

// marked returns the version of a mark.
func (c *clock) marked(step string) (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.marks[step]
	return at, ok
}

// revision is the newest version that there is: as others say, or else the API server.
func (p *Proxy) revision(ctx context.Context) uint64 {
	switch {
	case p.options.Now != nil:
		p.clock.saw(version(p.options.Now()))
	case p.observer != nil:
		p.clock.saw(p.observer.newest(ctx))
	}
	return p.clock.newest.Load()
}
