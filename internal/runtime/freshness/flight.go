package freshness

import "slices"

// flights are the unanswered writes to one object.
type flights[K, O comparable] struct {
	open int
	// read is the latest version on which one of them was based.
	read    uint64
	answers []*entry[K, O]
	seen    []event[K, O]
}

// Flight is a write in flight. It ends with exactly one of Wrote, Released, Deleted and Failed. Each of them reports whether
// a watch has shown news of the object in the meantime. If an object has several flights, the last one reports it.
type Flight[K, O comparable] struct {
	ledger *Ledger[K, O]
	key    K
	read   uint64
	ended  bool
}

// Begin marks the start of a write before it is sent. read is the version on which it is based; only an exact ledger needs it.
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
	return &Flight[K, O]{ledger: l, key: key, read: read}
}

// Wrote ends a write that left the object in a state.
func (f *Flight[K, O]) Wrote(o O) (news bool) {
	return f.land(&entry[K, O]{Form: f.ledger.Form(o), state: o, about: o, read: f.read})
}

// Released ends a write after which no watch selects the object. o is the previous state, with the version that the write
// created.
func (f *Flight[K, O]) Released(o O) (news bool) {
	return f.land(&entry[K, O]{Form: f.ledger.Form(o), about: o, read: f.read})
}

// Deleted ends the deletion of an object. o is its last known state.
func (f *Flight[K, O]) Deleted(o O) (news bool) {
	return f.land(&entry[K, O]{Form: f.ledger.Form(o), about: o, read: f.read, deleted: true})
}

// Failed ends a write that changed nothing as far as is known.
func (f *Flight[K, O]) Failed() (news bool) { return f.land(nil) }

// Abandoned ends a write that has not ended because the code that sends it panicked, for example when it writes an author's type as JSON. A
// write that never ends would hold back all news of the object.
func (f *Flight[K, O]) Abandoned() {
	if !f.ended {
		f.Failed()
	}
}

func (f *Flight[K, O]) land(answer *entry[K, O]) (news bool) {
	f.ended = true
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
		answered := func(answer *entry[K, O]) bool { return l.knows(answer, ev.Version) }
		if ev.open && !slices.ContainsFunc(group.answers, answered) {
			news, tell = true, ev.tell
		}
	}
	return news, tell
}
