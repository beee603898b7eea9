package proxy

import (
	"sync"
	"time"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// Activity describes what an operator has done, except its requests while it is idle.
// All requests are counted except watches, leases, discovery, health, shells and logs.
type Activity struct {
	// Last is the time when the last counted request was received or answered, or the proxy's start
	// if there was none.
	Last time.Time
	// Open is the number of counted requests that are in progress.
	Open int
	// Opening is the number of requested watches that have not begun: they have no response yet, or still show
	// the initial state.
	Opening int
	// Count is the number of counted requests that were received.
	Count int64
	// Seen is the number of all requests that were received.
	Seen int64
	// Disturbed means that a fault is active, so that silence means nothing: a view is frozen, the server is
	// unavailable, or a lease is taken.
	Disturbed bool
	// Pending is the number of faults of the script that have not been injected yet.
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

// meter counts requests.
type meter struct {
	mu      sync.Mutex
	now     Activity
	until   time.Time     // end of the last disturbance by a fault
	changed chan struct{} // nil if no caller waits
}

// disturb records that a fault is active for a time.
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

// begin counts a request, if it is of a counted kind, and returns the function that records its end. For a watch, the
// function records that it has begun.
func (m *meter) begin(r *requestlog.Request) (end func()) {
	if r.Verb == "watch" {
		m.change(func(a *Activity) { a.Seen++; a.Opening++ })
		return sync.OnceFunc(func() { m.change(func(a *Activity) { a.Opening-- }) })
	}
	if !r.Counts() {
		m.change(func(a *Activity) { a.Seen++ })
		return func() {}
	}
	m.change(func(a *Activity) { a.Seen++; a.Open++; a.Count++; a.Last = time.Now() })
	return func() { m.change(func(a *Activity) { a.Open--; a.Last = time.Now() }) }
}

// change wakes all waiting callers. A nil do changes no counter.
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
