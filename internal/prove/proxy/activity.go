package proxy

import (
	"sync"
	"time"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Activity is what an operator has done, without what it does when it is idle.
// Requests that count are all except watches, leases, discovery, health, shells and logs.
type Activity struct {
	// Last is when the last request that counts was received or answered, or the proxy's start
	// if there was none.
	Last time.Time
	// Open is the number of requests that count and are in progress.
	Open int
	// Opening is the number of requested watches that have not begun: they are not answered yet, or still show
	// the initial state.
	Opening int
	// Count is the number of requests received that count.
	Count int64
	// Seen is the number of requests of any kind received.
	Seen int64
	// Disturbed: a fault is active, so that silence means nothing: a view is frozen, the server is
	// unavailable, a lease is taken.
	Disturbed bool
	// Pending is the number of faults of the script that have not struck yet.
	Pending int
}

// Activity returns the operator's activity, and a channel that is closed when
// it changes.
func (p *Proxy) Activity() (Activity, <-chan struct{}) {
	now, changed := p.meter.read()
	now.Disturbed = p.disturbed()
	now.Pending = len(p.options.Script.Pending())
	return now, changed
}

// disturbed reports whether a fault is active.
func (p *Proxy) disturbed() bool { return p.meter.disturbed() || p.views.any() || p.leases.any() }

// counts reports whether a request shows that the operator is at work.
func counts(r *requestlog.Request) bool {
	switch {
	case r.Resource == "", r.Verb == "watch", r.Streams():
		return false
	}
	return !r.IsLease()
}

// meter counts requests.
type meter struct {
	mu      sync.Mutex
	now     Activity
	until   time.Time     // a fault is active
	changed chan struct{} // nil while no caller waits
}

// disturb records that a fault is active for a while.
func (m *meter) disturb(while time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if until := time.Now().Add(while); until.After(m.until) {
		m.until = until
	}
	time.AfterFunc(while, func() { m.change(nil) })
}

func (m *meter) disturbed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.until)
}

func (m *meter) read() (Activity, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.now, m.changed
}

// begin counts a request, where it counts, and returns what ends it: of a watch, its beginning.
func (m *meter) begin(r *requestlog.Request) (end func()) {
	if r.Verb == "watch" {
		m.change(func(a *Activity) { a.Seen++; a.Opening++ })
		return sync.OnceFunc(func() { m.change(func(a *Activity) { a.Opening-- }) })
	}
	if !counts(r) {
		m.change(func(a *Activity) { a.Seen++ })
		return func() {}
	}
	m.change(func(a *Activity) { a.Seen++; a.Open++; a.Count++; a.Last = time.Now() })
	return func() { m.change(func(a *Activity) { a.Open--; a.Last = time.Now() }) }
}

// change wakes all waiting callers. A nil do changes nothing that is counted.
func (m *meter) change(do func(*Activity)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if do != nil {
		do(&m.now)
	}
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}
