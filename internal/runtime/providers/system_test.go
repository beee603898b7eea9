package providers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/providers"
)

// thing is both the desired and the observed state in the tests.
type thing struct {
	Size, Color string
	key, token  string
}

// system is an external system in memory. It stores things by ID, each with a key as a field, and records the calls. before
// and after can affect the caller.
type system struct {
	mu     sync.Mutex
	things map[string]thing
	calls  []string
	next   int
	// before and after may make a call fail; they are called without the lock.
	before, after func(call string) error
	// lingers means that a deleted thing exists until it is observed the next time.
	lingers bool
	dying   map[string]bool
}

func newSystem() *system {
	return &system{things: map[string]thing{}, dying: map[string]bool{}}
}

// do executes one call: before, the effect, after.
func (s *system) do(call string, effect func() error) error {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(call); err != nil {
			return err
		}
	}
	s.mu.Lock()
	err := effect()
	s.mu.Unlock()
	if err == nil && after != nil {
		return after(call)
	}
	return err
}

func (s *system) Observe(_ context.Context, id string, want thing) (seen external.Observation[thing], err error) {
	err = s.do("look", func() error {
		t, ok := s.things[id]
		if !ok {
			return nil
		}
		if s.dying[id] {
			delete(s.things, id)
		}
		seen = external.Observation[thing]{Exists: true, State: t, Details: map[string][]byte{"address": []byte(id)}}
		if t.Size != want.Size {
			seen.Drift = []string{"size"}
		}
		if t.Color != want.Color {
			seen.Immutable = []string{"color"}
		}
		return nil
	})
	return seen, err
}

func (s *system) Create(_ context.Context, mark external.Mark, want thing) (id string, err error) {
	err = s.do("create", func() error {
		s.next++
		id = fmt.Sprintf("id-%d", s.next)
		want.key, want.token = mark.Key, mark.Token
		s.things[id] = want
		return nil
	})
	return id, err
}

func (s *system) Update(_ context.Context, id string, want thing) error {
	return s.do("update", func() error {
		t, ok := s.things[id]
		if !ok {
			return errors.New("there is no " + id)
		}
		t.Size = want.Size
		s.things[id] = t
		return nil
	})
}

func (s *system) Delete(_ context.Context, id string) error {
	return s.do("delete", func() error {
		if s.lingers {
			s.dying[id] = true
			return nil
		}
		delete(s.things, id)
		return nil
	})
}

// called returns the calls since the last call of called.
func (s *system) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *system) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for _, t := range s.things {
		keys = append(keys, t.key)
	}
	slices.Sort(keys)
	return keys
}

// finding is a system that can find things by key.
type finding struct{ *system }

func (s finding) Find(_ context.Context, key string) (id string, err error) {
	err = s.do("find", func() error {
		for _, i := range slices.Sorted(maps.Keys(s.things)) {
			if s.things[i].key == key {
				id = i
			}
		}
		return nil
	})
	return id, err
}

// once is a system that accepts each key once.
type once struct{ finding }

func (once) CreatesOnce() {}

func (s once) Create(ctx context.Context, mark external.Mark, want thing) (id string, err error) {
	err = s.do("create", func() error {
		for i, t := range s.things {
			if t.key == mark.Key {
				id = i
				return nil
			}
		}
		s.next++
		id = fmt.Sprintf("id-%d", s.next)
		want.key, want.token = mark.Key, mark.Token
		s.things[id] = want
		return nil
	})
	return id, err
}

// errConflict is the error for the second of two concurrent writes.
var errConflict = errors.New("somebody else wrote it")

// store holds a record. If two writers read the same version, one of them fails.
type store struct {
	mu      sync.Mutex
	text    string
	version int
	writes  int
	// before and after may make a write fail.
	before, after func() error
}

// desk simulates an operator process with a keeper. It reads the record again for each reconcile.
type desk struct {
	*testing.T
	*providers.Keeper
	clock    *testclock.FakeClock
	store    *store
	provider external.Provider[thing, thing]
	options  []external.KindOption
}

const uid = "0f9a"

func newDesk(t *testing.T, clock *testclock.FakeClock, s *store, provider external.Provider[thing, thing], options ...external.KindOption) *desk {
	return &desk{T: t, Keeper: providers.NewKeeper(clock, nil), clock: clock, store: s, provider: provider,
		options: append([]external.KindOption{external.Rate(1_000_000, time.Nanosecond)}, options...)}
}

func newClock() *testclock.FakeClock {
	return testclock.NewFakeClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
}

// keep runs one reconcile for things with these names.
func (d *desk) keep(want thing, names ...string) providers.Result {
	return d.keepAs(want, external.Wish{}, nil, names...)
}

func (d *desk) keepAs(want thing, wish external.Wish, said map[external.Ref]string, names ...string) providers.Result {
	d.Helper()
	return d.Keep(d.Context(), d.task(want, wish, said, names...))
}

// rehearse runs a dry run.
func (d *desk) rehearse(names ...string) providers.Result {
	task := d.task(thing{}, external.Wish{}, nil, names...)
	task.Rehearse = true
	return d.Keep(d.Context(), task)
}

func (d *desk) task(want thing, wish external.Wish, said map[external.Ref]string, names ...string) providers.Task {
	d.Helper()
	d.store.mu.Lock()
	text, version := d.store.text, d.store.version
	d.store.mu.Unlock()
	record, err := external.ParseRecord(text, uid)
	if err != nil {
		d.Fatal(err)
	}
	settings, err := external.SettingsOf("thing", d.options...)
	if err != nil {
		d.Fatal(err)
	}
	task := providers.Task{
		Owner: types.NamespacedName{Name: "owner"}, UID: uid, Record: record, Said: said,
		Kinds: map[string]providers.Kind{"thing": {Name: "thing", Calls: external.CallsOf(d.provider), Settings: settings}},
		Write: func(_ context.Context, r *external.Record) error { return d.store.write(r, &version) },
	}
	for _, name := range names {
		task.Declared = append(task.Declared, providers.Declared{Ref: ref(name), Desired: want, Wish: wish})
	}
	return task
}

func ref(name string) external.Ref { return external.Ref{Kind: "thing", Name: name} }

// write is an update that requires the version that was read.
func (s *store) write(r *external.Record, read *int) error {
	if s.before != nil {
		if err := s.before(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	if s.version != *read {
		s.mu.Unlock()
		return errConflict
	}
	text, err := r.Text()
	if err == nil {
		s.text = text
		s.version++
		s.writes++
		*read = s.version
	}
	s.mu.Unlock()
	if err == nil && s.after != nil {
		return s.after()
	}
	return err
}
