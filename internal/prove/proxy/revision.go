package proxy

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// clock records the order of the resource versions that the proxy knows.
type clock struct {
	newest atomic.Uint64

	mu     sync.Mutex
	writes []write // the effective writes of the operator
	marks  map[string]uint64
	shown  map[change]bool   // events that were already counted
	last   map[string]string // version of the operator's last write, by object
}

// write is the position of an effective write: the newest version before it, and its own version.
type write struct{ before, after uint64 }

// change identifies the change that an event shows: a version belongs to one object only.
type change struct {
	version uint64
	kind    string
}

// saw records a version from a request, a response or an event.
func (c *clock) saw(one uint64) {
	for {
		newest := c.newest.Load()
		if one <= newest || c.newest.CompareAndSwap(newest, one) {
			return
		}
	}
}

// maxKept is the maximum number of entries of each kind that a clock stores.
const maxKept = 1 << 16

// wrote records an effective write and the newest version before it. Leases and events are
// ignored, because they are written at any time.
func (c *clock) wrote(r *requestlog.Request, before uint64) {
	if !r.Counts() || r.Resource == "events" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.writes) == maxKept {
		c.writes = slices.Delete(c.writes, 0, maxKept/2)
	}
	c.writes = append(c.writes, write{before, max(resourceclient.Revision(r.After), before+1)}) // the response to a deletion does not contain its version
}

// note records the version of an object after a write.
func (c *clock) note(r *requestlog.Request) {
	if r.After == "" || r.Name == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || len(c.last) == maxKept {
		c.last = map[string]string{}
	}
	c.last[key(r)] = r.After
}

// own returns the version of an object after the operator's last write to it.
func (c *clock) own(r *requestlog.Request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[key(r)]
}

// key returns a string that identifies an object.
func key(r *requestlog.Request) string {
	return strings.Join([]string{r.Group, r.Resource, r.Namespace, r.Name}, "/")
}

// first reports whether an event is shown for the first time, across all watches.
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

// before returns the newest version before the last writes. It considers only writes up to the version by, and goes back
// as many writes as given.
func (c *clock) before(writes int, by uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := slices.DeleteFunc(slices.Clone(c.writes), func(w write) bool { return w.after > by })
	if len(done) == 0 {
		return by
	}
	return done[max(0, len(done)-writes)].before
}

// Mark records the current version under a name, for faults that go back to the end of a step. The version
// before a request that a fault goes back to is recorded under the match of the fault.
func (p *Proxy) Mark(ctx context.Context, step string) {
	p.clock.mark(step, p.revision(ctx))
}

func (c *clock) mark(name string, at uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.marks == nil {
		c.marks = map[string]uint64{}
	}
	c.marks[name] = at
}

// marked returns the version of a mark, or the newest version if no mark has that name.
func (c *clock) marked(step string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.marks[step]; ok {
		return at
	}
	return c.newest.Load()
}

// revision returns the newest known version. It calls the Now option if it is set, or else queries the API server.
func (p *Proxy) revision(ctx context.Context) uint64 {
	switch {
	case p.options.Now != nil:
		p.clock.saw(resourceclient.Revision(p.options.Now()))
	case p.observer != nil:
		p.clock.saw(p.observer.newest(ctx))
	}
	return p.clock.newest.Load()
}
