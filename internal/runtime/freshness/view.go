package freshness

import (
	"maps"
	"slices"
)

// View contains the writes for readers of a cache. Begin it before the cache is read: a watch may show a write after the
// state before it was read, and the ledger then drops the write.
type View[K, O comparable] struct {
	ledger *Ledger[K, O]
	// heads contains the versions that caches had reached when the view began.
	heads map[*Watch[K, O]]uint64
	// dropped contains the writes that the ledger has dropped since then.
	dropped map[K]*entry[K, O]
}

// View begins a view, which End ends.
func (l *Ledger[K, O]) View() *View[K, O] {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &View[K, O]{ledger: l, heads: map[*Watch[K, O]]uint64{}, dropped: map[K]*entry[K, O]{}}
	for w := range l.watches {
		v.heads[w] = w.position()
	}
	l.views[v] = true
	return v
}

// End ends a view.
func (v *View[K, O]) End() {
	v.ledger.mu.Lock()
	defer v.ledger.mu.Unlock()
	delete(v.ledger.views, v)
}

// Keys returns the objects whose state in a cache may be older than an own write.
func (v *View[K, O]) Keys() []K {
	v.ledger.mu.Lock()
	defer v.ledger.mu.Unlock()
	all := maps.Clone(v.ledger.entries)
	maps.Copy(all, v.dropped)
	return slices.Collect(maps.Keys(all))
}

// Newest returns the newer of two states: the state in a cache, which may be absent, and the result of the last own write.
// The caller must not change it.
func (v *View[K, O]) Newest(key K, cached O) O {
	v.ledger.mu.Lock()
	defer v.ledger.mu.Unlock()
	e := v.ledger.entries[key]
	if e == nil {
		e = v.dropped[key]
	}
	if e == nil {
		return cached
	}
	var none O
	form := Form{}
	if cached != none {
		form = v.ledger.Form(cached)
	}
	switch {
	case e.deleted:
		return v.afterDeletion(e, cached, form)
	case form.Version >= e.Version || v.includes(key, e):
		return cached
	}
	return e.state
}

// includes reports whether all caches had reached a write when the view began.
func (v *View[K, O]) includes(key K, e *entry[K, O]) bool {
	covered := false
	for w, head := range v.heads {
		covers := w.covers(key, e.about)
		if covers && head < e.Version {
			return false
		}
		covered = covered || covers
	}
	return covered
}

// afterDeletion interprets the state in a cache after the deletion of the object: finalizers may delay the deletion.
func (v *View[K, O]) afterDeletion(e *entry[K, O], cached O, form Form) O {
	var none O
	switch {
	case cached == none:
		return none
	case form.UID != e.UID && form.Version > e.Version:
		return cached // the successor
	case form.UID != e.UID:
		return none // a predecessor, which ended earlier
	case form.Deleting:
		return cached
	case e.state != none && v.ledger.Form(e.state).Version > form.Version:
		return v.ledger.Config.Deleting(e.state)
	}
	return v.ledger.Config.Deleting(cached)
}
