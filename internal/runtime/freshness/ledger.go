package freshness

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Form contains the data of a state that a ledger compares.
type Form struct {
	UID types.UID
	// Version is the resource version. Versions increase across all states of one kind.
	Version uint64
	// Deleting means that the object is deleted when its finalizers are removed.
	Deleting bool
}

// Config describes the states of objects for a ledger. The zero O is the absence of an object.
type Config[O comparable] struct {
	// Form returns the form of a state.
	Form func(O) Form
	// Deleting returns a state as caches show it after the deletion of the object was requested. A ledger without views does
	// not need it.
	Deleting func(O) O
	// Exact means that the response to a write says nothing about earlier states: states between the one that was read and
	// the response are news.
	Exact bool
}

// Ledger stores the last write to each object until all watches that cover the object have shown it.
//
// Guarantees: View.Newest returns no state that is older than the last answered write. A write that no watch covers, or that
// all watches have passed, is not stored: a watch shows states in the order of their versions.
//
// Assumptions: the cache of a watch includes each event that the watch reports here, and all before it.
//
// Caveats: an own write that only a relist shows may be reported as Unwritten.
type Ledger[K, O comparable] struct {
	Config[O]
	mu      sync.Mutex
	entries map[K]*entry[K, O]
	flights map[K]*flights[K, O]
	views   map[*View[K, O]]bool
	watches map[*Watch[K, O]]bool
}

// New returns an empty ledger.
func New[K, O comparable](cfg Config[O]) *Ledger[K, O] {
	return &Ledger[K, O]{
		Config: cfg, entries: map[K]*entry[K, O]{}, flights: map[K]*flights[K, O]{},
		views: map[*View[K, O]]bool{}, watches: map[*Watch[K, O]]bool{},
	}
}

// entry is the result of one write.
type entry[K, O comparable] struct {
	// Form is the form of the response. The response to a deletion has none, so the last known form is used.
	Form
	// state is the state after the write. It is the zero O after a release.
	state O
	// about is the state by which watches decide whether they cover the object.
	about   O
	deleted bool
	// read is the version of the state on which the write was based, in an exact ledger.
	read uint64
	// waits contains the watches that have not shown the write.
	waits map[*Watch[K, O]]bool
}

// event is a watch event.
type event[K, O comparable] struct {
	Form
	watch *Watch[K, O]
	// gone means that the object ended, or is no longer selected.
	gone bool
	// open means that the response to a write determines whether the event is news. If it is, tell is called unless it is nil.
	open bool
	tell func()
}

// settles reports whether a watch that shows the event no longer needs the entry.
func (e *entry[K, O]) settles(ev event[K, O]) bool {
	if e.deleted && ev.UID == e.UID && !ev.gone {
		return ev.Deleting
	}
	return ev.Version >= e.Version
}

// knows reports whether a state is the response to a write, or an earlier known state.
func (l *Ledger[K, O]) knows(e *entry[K, O], version uint64) bool {
	return version == e.Version || version < e.Version && (!l.Exact || version <= e.read)
}

// Kept returns the number of stored writes.
func (l *Ledger[K, O]) Kept() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// drop removes a write, except from open views. The lock is held.
func (l *Ledger[K, O]) drop(key K) {
	e, ok := l.entries[key]
	if !ok {
		return
	}
	delete(l.entries, key)
	for v := range l.views {
		v.dropped[key] = e
	}
}

// settle records that a watch no longer needs a write. The lock is held.
func (l *Ledger[K, O]) settle(key K, e *entry[K, O], w *Watch[K, O]) {
	delete(e.waits, w)
	if len(e.waits) == 0 {
		l.drop(key)
	}
}

// keep stores a write, unless watches have shown it before its response, or a later write was answered first. The lock is held.
func (l *Ledger[K, O]) keep(key K, e *entry[K, O], seen []event[K, O]) {
	old := l.entries[key]
	if old != nil && !e.follows(old) {
		return
	}
	if old != nil && old.UID == e.UID && !e.exact() && (e.deleted || old.deleted) {
		e = e.joined(old)
	}
	e.waits = map[*Watch[K, O]]bool{}
	for w := range l.watches {
		if w.covers(key, e.about) && !w.holds(key, e) {
			e.waits[w] = true
		}
	}
	for _, ev := range seen {
		if e.settles(ev) {
			delete(e.waits, ev.watch)
		}
	}
	l.drop(key)
	if len(e.waits) > 0 {
		l.entries[key] = e
	}
}

// follows reports whether a write that is answered after old is not an earlier one. Deletions have no version: another object
// with the name is the successor, unless the deletion is based on a later state.
func (e *entry[K, O]) follows(old *entry[K, O]) bool {
	if e.UID == old.UID && (e.deleted || old.deleted) {
		return !e.deleted || !old.exact()
	}
	return e.Version > old.Version
}

// exact reports whether the response to a write is sufficient for an object that is being deleted: it shows that the object
// is being deleted, or was released.
func (e *entry[K, O]) exact() bool {
	var none O
	return !e.deleted && (e.Deleting || e.state == none)
}

// joined returns the result of a deletion and another write of the same object, regardless of the order of the responses.
func (e *entry[K, O]) joined(old *entry[K, O]) *entry[K, O] {
	if old.Version > e.Version {
		e, old = old, e
	}
	joined := *e
	joined.deleted = true
	var none O
	if joined.state == none {
		joined.state = old.state
	}
	return &joined
}
