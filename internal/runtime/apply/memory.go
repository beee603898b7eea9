package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Memory holds the last write to each child until a watch shows it or something newer.
//
// Guarantees: Newest never returns a state older than our last write to that object. What
// is held is what watches have not shown yet, and nothing else.
// Assumptions: resource versions of one kind can be compared as numbers, which Kubernetes
// promises since 1.35 and etcd has always done. What watches show is told to Seen and Gone.
// Caveats: it is empty after a restart, when the caches are read anew anyway.
type Memory struct {
	mu   sync.Mutex
	last map[plan.ID]write
	// flights are writes that are not answered yet, with what watches show meanwhile: often
	// that is the answer, sooner.
	flights map[plan.ID]*flight
	views   map[*View]bool
}

// flight is a write that is not answered yet, or several where objects contend for a name.
type flight struct {
	writes int
	shown  *plan.Live
	gone   bool
	tell   func()
}

// write is what one write left behind.
type write struct {
	// live is what the server answered; nil after a deletion.
	live *plan.Live
	// uid is the object that was written, deleted or released.
	uid types.UID
	// released: it is there, and ours no more.
	released bool
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{last: map[plan.ID]write{}, flights: map[plan.ID]*flight{}, views: map[*View]bool{}}
}

// View is what is remembered from a moment on. Who reads a cache and then asks for what is
// newer has to begin it before the read: a watch may show a write, which is then forgotten,
// when the state before it was read already.
type View struct {
	memory *Memory
	shown  map[plan.ID]write // since the view was begun
}

// View begins a view. It ends with End.
func (m *Memory) View() *View {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := &View{memory: m}
	m.views[v] = true
	return v
}

// End ends a view.
func (v *View) End() {
	v.memory.mu.Lock()
	defer v.memory.mu.Unlock()
	delete(v.memory.views, v)
}

// Newest returns the later of what the cache holds, which may be nil, and what was written.
func (v *View) Newest(id plan.ID, cached *plan.Live) *plan.Live {
	m := v.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.last[id]
	if !ok {
		last, ok = v.shown[id]
	}
	if !ok {
		return cached
	}
	switch {
	case last.released && cached != nil && cached.UID == last.uid:
		return nil // the cache still shows what was released
	case last.live == nil && cached != nil && cached.UID == last.uid:
		return going(cached) // finalizers may still hold it: it is gone when the cache says so
	case last.live != nil && (cached == nil || older(cached, last.live)):
		return last.live
	}
	if cached != nil && cached != last.live { // the cache has caught up; it has not where we are asked about our own answer
		m.drop(id)
	}
	return cached
}

// drop forgets a write that a watch has shown. The lock is held.
func (m *Memory) drop(id plan.ID) {
	last, ok := m.last[id]
	if !ok {
		return
	}
	delete(m.last, id)
	for v := range m.views {
		if v.shown == nil {
			v.shown = map[plan.ID]write{}
		}
		v.shown[id] = last
	}
}

// Sight is what a state that a watch shows is to us.
type Sight int

const (
	// Unwritten: we wrote nothing that watches have not shown before.
	Unwritten Sight = iota
	// Known: the answer to our own write, or a state before it.
	Known
	// Newer: what somebody made of our last write.
	Newer
)

// Seen notes a state of a child that a watch shows. While a write to the child is under
// way, it is Known, and tell is called afterwards if it turns out to be something else.
func (m *Memory) Seen(live *plan.Live, tell func()) Sight {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.flights[live.ID()]; f != nil {
		f.shown, f.gone, f.tell = live, false, tell
		return Known
	}
	return m.seen(live)
}

func (m *Memory) seen(live *plan.Live) Sight {
	last, ok := m.last[live.ID()]
	switch {
	case !ok:
		return Unwritten
	case last.live == nil && last.uid == live.UID:
		return Newer // the object goes, which its end tells
	case last.live == nil:
		m.drop(live.ID()) // another one took its place
		return Newer
	case older(live, last.live):
		return Known
	}
	m.drop(live.ID())
	if live.UID == last.uid && live.ResourceVersion == last.live.ResourceVersion {
		return Known
	}
	return Newer
}

// Gone forgets a write because a watch shows that the object is no more, or not selected
// any more: nothing newer will come to take its place.
func (m *Memory) Gone(live *plan.Live) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.flights[live.ID()]; f != nil {
		f.shown, f.gone = live, true
	}
	m.gone(live)
}

func (m *Memory) gone(live *plan.Live) {
	if last, ok := m.last[live.ID()]; ok && last.uid == live.UID {
		delete(m.last, live.ID())
	}
}

// begin says that a write to a child is sent. It ends with wrote, deleted, released or
// failed.
func (m *Memory) begin(id plan.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.flights[id] == nil {
		m.flights[id] = &flight{}
	}
	m.flights[id].writes++
}

// land ends a write with what it left behind, if anything. After the last one of the name it
// looks again at what watches showed meanwhile.
func (m *Memory) land(id plan.ID, w *write) {
	m.mu.Lock()
	m.keep(id, w)
	tell := m.landed(id)
	m.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// keep remembers a write, unless a later one was answered before it. The lock is held.
func (m *Memory) keep(id plan.ID, w *write) {
	if w == nil {
		return
	}
	if last := m.last[id]; w.live != nil && last.live != nil && older(w.live, last.live) {
		return
	}
	m.last[id] = *w
}

// landed ends a write, and returns how to tell of what watches showed meanwhile, if that is
// news. The lock is held.
func (m *Memory) landed(id plan.ID) (tell func()) {
	f := m.flights[id]
	if f == nil {
		return nil
	}
	if f.writes--; f.writes > 0 {
		return nil
	}
	delete(m.flights, id)
	switch {
	case f.shown == nil:
	case f.gone:
		m.gone(f.shown)
	case m.seen(f.shown) != Known:
		return f.tell
	}
	return nil
}

// Forget drops what is remembered of an object, as after its owner is gone.
func (m *Memory) Forget(id plan.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, id)
}

// found remembers what was read past all caches.
func (m *Memory) found(live *plan.Live) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(live.ID(), &write{live: live, uid: live.UID})
}

// wrote remembers the server's answer to a write.
func (m *Memory) wrote(live *plan.Live) { m.land(live.ID(), &write{live: live, uid: live.UID}) }

func (m *Memory) deleted(live *plan.Live) { m.land(live.ID(), &write{uid: live.UID}) }

func (m *Memory) released(live *plan.Live) {
	m.land(live.ID(), &write{uid: live.UID, released: true})
}

// failed says that a write came to nothing, as far as is known.
func (m *Memory) failed(id plan.ID) { m.land(id, nil) }

// going is an object that was deleted, as the cache will show it.
func going(cached *plan.Live) *plan.Live {
	if cached.Deleting {
		return cached
	}
	deleting := *cached
	deleting.Deleting = true
	return &deleting
}

// older tells whether a is an earlier state than b of what has their name: of the same
// object, or one whose place b took.
func older(a, b *plan.Live) bool {
	return resourceclient.Revision(a.ResourceVersion) < resourceclient.Revision(b.ResourceVersion)
}
