package freshness

import "k8s.io/apimachinery/pkg/types"

// Watch is a watch that reports to a ledger what it shows.
type Watch[K, O comparable] struct {
	ledger *Ledger[K, O]
	covers func(K, O) bool
	cache  Cache[K]
	lost   func(O)
	// reached is the latest version that was shown, events how many were since entries were last compared with it.
	reached uint64
	events  int
}

// Cache is what a watch keeps up to date.
type Cache[K comparable] interface {
	// Version is that of the latest change that the cache includes, or 0 if it is not known.
	Version() uint64
	// Form is that of an object in the cache, or empty.
	Form(key K) Form
}

// Watch adds a watch of the objects for which covers returns true. cache may be nil where no view reads it. lost, if it
// is not nil, is called with a state of an object that ended before the watch showed what was written.
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

// End removes a watch that shows nothing any more.
func (w *Watch[K, O]) End() {
	l := w.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watches, w)
	for key, e := range l.entries {
		l.settle(key, e, w)
	}
}

// Sight is what a state that a watch shows means to the operator.
type Sight int

const (
	// Unwritten: the watch has shown all own writes to the object before.
	Unwritten Sight = iota
	// Known: the answer to an own write, or a state before it.
	Known
	// Newer: what another writer made of the last own write.
	Newer
)

// Shown notes a state that the watch shows. While a write to the object is in flight it is Known, and tell, if not
// nil, is called after the write if the state turns out to be something else.
func (w *Watch[K, O]) Shown(key K, form Form, tell func()) Sight {
	return w.note(key, event[K, O]{Form: form, watch: w, tell: tell})
}

// Gone notes that an object ended, or is no longer selected. form is the last one, of the version at which that
// happened, or of an earlier one where a relist skipped it.
func (w *Watch[K, O]) Gone(key K, form Form) {
	w.note(key, event[K, O]{Form: form, watch: w, gone: true})
}

// Passed notes that the watch has shown a version of which no more is to be known.
func (w *Watch[K, O]) Passed(version uint64) {
	w.ledger.mu.Lock()
	lost := w.advance(version)
	w.ledger.mu.Unlock()
	w.report(lost)
}

// position is the version that the watch's cache has reached, as far as that is known. The lock is held.
func (w *Watch[K, O]) position() uint64 {
	if w.cache == nil {
		return w.reached
	}
	return max(w.reached, w.cache.Version())
}

// lacks reports whether the watch's cache does not hold an object.
func (w *Watch[K, O]) lacks(key K, uid types.UID) bool {
	return w.cache == nil || w.cache.Form(key).UID != uid
}

// holds reports whether the watch's cache holds what a write left, because the watch showed it before.
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
	w.report(lost)
	return sight
}

func (w *Watch[K, O]) report(lost []O) {
	if w.lost == nil {
		return
	}
	for _, o := range lost {
		w.lost(o)
	}
}

// judge compares an event with the last write to the object, which it may settle. The lock is held.
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

// advance drops the writes that the watch has passed without showing them, because their objects had ended or were no
// longer selected, and returns these objects. So that each event costs the same however many writes are held, they are
// looked through once in as many events. The lock is held.
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
			lost = append(lost, e.about)
		}
	}
	return lost
}

// flights are the writes to one object that are not answered yet.
type flights[K, O comparable] struct {
	open int
	// read is the latest version that one of them was based on.
	read    uint64
	answers []*entry[K, O]
	seen    []event[K, O]
}

// Flight is a write in flight. It ends with exactly one of Wrote, Released, Deleted and Failed, each of which reports
// whether a watch has shown news of the object meanwhile. With several flights of one object, the last one reports that.
type Flight[K, O comparable] struct {
	ledger *Ledger[K, O]
	key    K
	read   uint64
}

// Begin marks a write as in flight, before it is sent. read is the version on which it is based; only an exact ledger needs it.
func (l *Ledger[K, O]) Begin(key K, read uint64) *Flight[K, O] {
	l.mu.Lock()
	defer l.mu.Unlock()
	group := l.flights[key]
	if group == nil {
		group = &flights[K, O]{}
		l.flights[key] = group
	}
	group.open++
	group.read = max(group.read, read)
	return &Flight[K, O]{l, key, read}
}

// Wrote ends a write that left the object in a state.
func (f *Flight[K, O]) Wrote(o O) (news bool) {
	return f.land(&entry[K, O]{Form: f.ledger.Form(o), state: o, about: o, read: f.read})
}

// Released ends a write after which watches select the object no more. o is its state before, of the version that
// the write made.
func (f *Flight[K, O]) Released(o O) (news bool) {
	return f.land(&entry[K, O]{Form: f.ledger.Form(o), about: o, read: f.read})
}

// Deleted ends the deletion of an object, of which o is the last state known.
func (f *Flight[K, O]) Deleted(o O) (news bool) {
	return f.land(&entry[K, O]{Form: f.ledger.Form(o), about: o, read: f.read, deleted: true})
}

// Failed ends a write that changed nothing, as far as is known.
func (f *Flight[K, O]) Failed() (news bool) { return f.land(nil) }

func (f *Flight[K, O]) land(answer *entry[K, O]) (news bool) {
	news, tell := f.end(answer)
	if tell != nil {
		tell()
	}
	return news
}

func (f *Flight[K, O]) end(answer *entry[K, O]) (news bool, tell func()) {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	group := l.flights[f.key]
	if answer != nil {
		group.answers = append(group.answers, answer)
		l.keep(f.key, answer, group.seen)
	}
	if group.open--; group.open > 0 {
		return false, nil
	}
	delete(l.flights, f.key)
	for _, ev := range group.seen {
		if ev.open && !l.answered(group, ev) {
			news, tell = true, ev.tell
		}
	}
	return news, tell
}

// answered reports whether an event shows the answer to one of the writes, or a state known since.
func (l *Ledger[K, O]) answered(group *flights[K, O], ev event[K, O]) bool {
	for _, answer := range group.answers {
		if l.knows(answer, ev.Version) {
			return true
		}
	}
	return false
}

// View is what was written, for readers of a cache. Begin it before the cache is read: a watch may show a write, which
// the ledger then drops, after the state before it was read.
type View[K, O comparable] struct {
	ledger *Ledger[K, O]
	// heads are the versions that caches had reached when the view began.
	heads map[*Watch[K, O]]uint64
	// dropped are the writes that were dropped since then.
	dropped map[K]*entry[K, O]
}

// View begins a view. It ends with End.
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
	var keys []K
	for key := range v.ledger.entries {
		keys = append(keys, key)
	}
	for key := range v.dropped {
		if v.ledger.entries[key] == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Newest returns the later of the state that a cache holds, which may be absent, and what the last own write left.
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
		if !w.covers(key, e.about) {
			continue
		}
		if covered = true; head < e.Version {
			return false
		}
	}
	return covered
}

// afterDeletion is what the state in a cache means after the deletion of the object: finalizers may still hold it.
func (v *View[K, O]) afterDeletion(e *entry[K, O], cached O, form Form) O {
	var none O
	switch {
	case cached == none:
		return none
	case form.UID != e.UID && form.Version > e.Version:
		return cached // the successor
	case form.UID != e.UID:
		return none // a predecessor, which ended before
	case form.Deleting:
		return cached
	case e.state != none && v.ledger.Form(e.state).Version > form.Version:
		return v.ledger.Config.Deleting(e.state)
	}
	return v.ledger.Config.Deleting(cached)
}
