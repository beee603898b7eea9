package freshness

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Form is what a ledger compares of a state of an object.
type Form struct {
	UID types.UID
	// Version is the resource version. The versions of all states of one kind grow.
	Version uint64
	// Deleting: the object goes when its finalizers are gone.
	Deleting bool
}

// Config says what a ledger knows about the states of objects. The zero O is the absence of an object.
type Config[O comparable] struct {
	// Form returns the form of a state.
	Form func(O) Form
	// Deleting returns a state as caches show it when the deletion of the object has been requested. A ledger
	// that no view reads needs none.
	Deleting func(O) O
	// Exact: the answer to a write says nothing about earlier states, so that those between the state that was
	// read and the answer are news.
	Exact bool
}

// Ledger holds the last write to each object until all watches that cover the object have shown it.
//
// Guarantees: View.Newest returns no state that is older than the last answered write. A write that no watch covers, or
// that all have passed, is not held: a watch shows states in the order of their versions.
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

// entry is what one write left behind.
type entry[K, O comparable] struct {
	// Form is that of the answer. The answer to a deletion has none: then it is the last form that is known.
	Form
	// state is what the write left: the zero O after a release.
	state O
	// about is a state by which watches decide whether they cover the object.
	about   O
	deleted bool
	// read is the version of the state that the write was based on, in an exact ledger.
	read uint64
	// waits are the watches that have not shown the write.
	waits map[*Watch[K, O]]bool
}

// event is what a watch showed.
type event[K, O comparable] struct {
	Form
	watch *Watch[K, O]
	// gone: the object ended, or is no longer selected.
	gone bool
	// open: whether the event is news depends on the answer to a write. Then tell is called, if it is not nil.
	open bool
	tell func()
}

// settles reports whether a watch that shows the event needs the entry no longer.
func (e *entry[K, O]) settles(ev event[K, O]) bool {
	if e.deleted && ev.UID == e.UID && !ev.gone {
		return ev.Deleting
	}
	return ev.Version >= e.Version
}

// knows reports whether a state is the answer to a write, or known since.
func (l *Ledger[K, O]) knows(e *entry[K, O], version uint64) bool {
	return version == e.Version || version < e.Version && (!l.Exact || version <= e.read)
}

// Kept returns how many writes are held.
func (l *Ledger[K, O]) Kept() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// drop drops a write, except for open views. The lock is held.
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

// settle notes that a watch no longer needs a write. The lock is held.
func (l *Ledger[K, O]) settle(key K, e *entry[K, O], w *Watch[K, O]) {
	delete(e.waits, w)
	if len(e.waits) == 0 {
		l.drop(key)
	}
}

// keep holds a write, unless watches have shown it before it was answered, or a later one was answered first. The lock is held.
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

// follows reports whether a write that is answered after old is not an earlier one. Deletions have no version of
// their own: another object of the name is the successor unless the deletion was decided on a later state.
func (e *entry[K, O]) follows(old *entry[K, O]) bool {
	if e.UID == old.UID && (e.deleted || old.deleted) {
		return !e.deleted || !old.exact()
	}
	return e.Version > old.Version
}

// exact reports whether the answer to a write says all about an object that is being deleted: that it is, or that it was
// released.
func (e *entry[K, O]) exact() bool {
	var none O
	return !e.deleted && (e.Deleting || e.state == none)
}

// joined is what a deletion and another write of the same object leave, in whichever order they were answered.
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
