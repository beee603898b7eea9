package freshness

import "k8s.io/apimachinery/pkg/types"

// Watch is a watch that reports its events to a ledger.
type Watch[K, O comparable] struct {
	ledger *Ledger[K, O]
	covers func(K, O) bool
	cache  Cache[K]
	lost   func(O)
	// reached is the latest version that was shown. events counts the events since entries were last compared with it.
	reached uint64
	events  int
}

// Cache is the cache that a watch updates. Both fields may be nil if no view reads the cache.
type Cache[K comparable] struct {
	// Version returns the version of the latest change that the cache includes, or 0 if it is not known.
	Version func() uint64
	// Form returns the form of an object in the cache, or an empty form.
	Form func(key K) Form
}

// Watch adds a watch of the objects for which covers returns true. lost is called with a state of an object that ended before
// the watch showed the write.
func (l *Ledger[K, O]) Watch(covers func(K, O) bool, cache Cache[K], lost func(O)) *Watch[K, O] {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &Watch[K, O]{ledger: l, covers: covers, cache: cache, lost: lost}
	l.watches[w] = true
	for key, e := range l.entries {
		if covers(key, e.about) {
			e.waits[w] = true
		}
	}
	return w
}

// End removes a watch that has ended.
func (w *Watch[K, O]) End() {
	l := w.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watches, w)
	for key, e := range l.entries {
		l.settle(key, e, w)
	}
}

// Sight is the meaning of a state that a watch shows.
type Sight int

const (
	// Unwritten: the watch has already shown all own writes to the object.
	Unwritten Sight = iota
	// Known: the response to an own write, or an earlier state.
	Known
	// Newer: a change by another writer after the last own write.
	Newer
)

// Shown records a state that the watch shows. While a write to the object is in flight, the result is Known. If the state
// turns out to be something else, tell is called after the write unless it is nil.
func (w *Watch[K, O]) Shown(key K, form Form, tell func()) Sight {
	return w.note(key, event[K, O]{Form: form, watch: w, tell: tell})
}

// Gone records that an object ended, or is no longer selected. form is its last form, with the version at which that
// happened, or with an earlier version if a relist skipped it.
func (w *Watch[K, O]) Gone(key K, form Form) {
	w.note(key, event[K, O]{Form: form, watch: w, gone: true})
}

// position returns the known version that the watch's cache has reached. The lock is held.
func (w *Watch[K, O]) position() uint64 {
	if w.cache.Version == nil {
		return w.reached
	}
	return max(w.reached, w.cache.Version())
}

// lacks reports whether the watch's cache does not contain an object.
func (w *Watch[K, O]) lacks(key K, uid types.UID) bool {
	return w.cache.Form == nil || w.cache.Form(key).UID != uid
}

// holds reports whether the watch's cache contains the result of a write, because the watch has shown it before.
func (w *Watch[K, O]) holds(key K, e *entry[K, O]) bool {
	return w.reached >= e.Version && !w.lacks(key, e.UID) && (!e.deleted || w.cache.Form(key).Deleting)
}

func (w *Watch[K, O]) note(key K, ev event[K, O]) Sight {
	w.ledger.mu.Lock()
	sight := w.ledger.judge(key, ev)
	lost := w.advance(ev.Version)
	if group := w.ledger.flights[key]; group != nil {
		ev.open = !ev.gone && sight != Known && ev.Version > group.read
		group.seen = append(group.seen, ev)
		sight = Known
	}
	w.ledger.mu.Unlock()
	for _, o := range lost {
		w.lost(o)
	}
	return sight
}

// judge compares an event with the last write to the object, and may settle the write. The lock is held.
func (l *Ledger[K, O]) judge(key K, ev event[K, O]) Sight {
	e := l.entries[key]
	if e == nil || !e.waits[ev.watch] {
		return Unwritten
	}
	if e.settles(ev) {
		l.settle(key, e, ev.watch)
	}
	if l.knows(e, ev.Version) {
		return Known
	}
	return Newer
}

// advance drops the writes that the watch has passed without showing them, because their objects ended or were no longer
// selected. It returns these objects, except those that the operator deleted. It checks all stored writes once per as many
// events, so that the cost of an event does not depend on their number. The lock is held.
func (w *Watch[K, O]) advance(version uint64) (lost []O) {
	l := w.ledger
	w.reached = max(w.reached, version)
	if w.events++; w.events < len(l.entries) {
		return nil
	}
	w.events = 0
	for key, e := range l.entries {
		if e.waits[w] && w.reached >= e.Version && w.lacks(key, e.UID) {
			l.settle(key, e, w)
			if !e.deleted { // the end of a deleted object is reported too
				lost = append(lost, e.about)
			}
		}
	}
	return lost
}
