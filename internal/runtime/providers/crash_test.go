package providers_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// crash is the panic that ends a process in these tests.
type crash struct{}

// fuse ends the process at the nth moment: before or after the effect of a call or a write. After that, nothing that the
// process does has an effect.
type fuse struct {
	mu   sync.Mutex
	left int
	hit  bool
}

func (f *fuse) burn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left--
	if f.hit || f.left < 0 {
		f.hit = true
		panic(crash{})
	}
}

// keepUntilCrash executes a reconcile that may end in a crash.
func (d *desk) keepUntilCrash(names ...string) (crashed bool) {
	defer func() {
		if recovered := recover(); recovered != nil {
			if _, ok := recovered.(crash); !ok {
				panic(recovered)
			}
			crashed = true
		}
	}()
	d.keep(thing{Size: "s"}, names...)
	return false
}

// If the process is killed at any moment while ten things are created and then reduced to three, the system contains exactly
// these in the end.
func TestCrashAtEveryMoment(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]func(*system) external.Provider[thing, thing]{
		"found by key":           func(s *system) external.Provider[thing, thing] { return finding{s} },
		"made once for each key": func(s *system) external.Provider[thing, thing] { return once{finding{s}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moments := 0
			for crashAt(t, provider, moments) {
				moments++
			}
			if moments < 100 {
				t.Errorf("there were only %d moments to be killed at", moments)
			}
			t.Logf("killed at each of %d moments", moments)
		})
	}
}

// crashAt executes everything with a crash at the nth moment. It returns false if there are fewer moments.
func crashAt(t *testing.T, make func(*system) external.Provider[thing, thing], n int) bool {
	t.Helper()
	s, st, clock, f := newSystem(), &store{}, newClock(), &fuse{left: n}
	burn := func(string) error { f.burn(); return nil }
	s.before, s.after = burn, burn
	st.before = func() error { f.burn(); return nil }
	st.after = st.before
	d := newDesk(t, clock, st, make(s))
	for _, names := range [][]string{numbered(10), numbered(3)} {
		for range 8 {
			if d.keepUntilCrash(names...) {
				s.before, s.after, st.before, st.after = nil, nil, nil, nil
				d = newDesk(t, clock, st, make(s)) // the next process
			}
			clock.Step(time.Minute)
		}
		want := wanted(names)
		if got := s.keys(); !slices.Equal(got, want) {
			t.Errorf("killed at moment %d: there are %d things, want %d\n%q\n%s", n, len(got), len(want), got, st.text)
			return false
		}
	}
	return f.hit
}

func numbered(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint(i))
	}
	return names
}

func wanted(names []string) []string {
	var keys []string
	for _, name := range names {
		keys = append(keys, external.KeyOf(uid, ref(name)))
	}
	slices.Sort(keys)
	return keys
}

// If a system cannot be queried by key, a crash leaves at most one thing that a person has to look for. The operator does
// what the person states, and nothing is created twice.
func TestCrashWithoutKeys(t *testing.T) {
	t.Parallel()
	stalls := 0
	for n := 0; ; n++ {
		s, st, clock, f := newSystem(), &store{}, newClock(), &fuse{left: n}
		burn := func(string) error { f.burn(); return nil }
		s.before, s.after = burn, burn
		st.before = func() error { f.burn(); return nil }
		st.after = st.before
		d := newDesk(t, clock, st, s)
		if !d.keepUntilCrash(numbered(3)...) {
			break
		}
		s.before, s.after, st.before, st.after = nil, nil, nil, nil
		d = newDesk(t, clock, st, s)
		result := d.keep(thing{Size: "s"}, numbered(3)...)
		if result.Outcome.Kind() == outcome.KindStalled {
			stalls++
			result = d.keepAs(thing{Size: "s"}, external.Wish{}, d.person(s), numbered(3)...)
		}
		if got := s.keys(); !slices.Equal(got, wanted(numbered(3))) || result.Outcome.Kind() != outcome.KindDone {
			t.Fatalf("killed at moment %d: %v, %q\n%s", n, result.Outcome, got, st.text)
		}
	}
	if stalls == 0 {
		t.Error("no moment was one of which only a person can tell")
	}
}

// person looks in the system for the things that are marked in the record, and returns the result.
func (d *desk) person(s *system) map[external.Ref]string {
	record, err := external.ParseRecord(d.store.text, uid)
	if err != nil {
		d.Fatal(err)
	}
	said, marks := map[external.Ref]string{}, 0
	for r, entry := range record.Entries {
		if entry.ID != "" {
			continue
		}
		marks++
		said[r] = external.None
		for id, t := range s.things {
			if t.key == external.KeyOf(uid, r) {
				said[r] = id
			}
		}
	}
	if marks != 1 {
		d.Errorf("a person has to look for %d things, want 1", marks)
	}
	return said
}

// Two operators overlap: while one creates a thing, the other one reconciles the same object, at each possible moment.
func TestTwoOperatorsMakeOne(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"before find", "after find", "before create", "after create", "before write", "after write"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			s, st, clock := newSystem(), &store{}, newClock()
			a, b := newDesk(t, clock, st, finding{s}), newDesk(t, clock, st, finding{s})
			met := false
			other := func() {
				if !met {
					met = true
					b.keep(thing{Size: "s"}, "one")
				}
			}
			at := func(now string) func(string) error {
				return func(call string) error {
					if now+" "+call == moment {
						other()
					}
					return nil
				}
			}
			s.before, s.after = at("before"), at("after")
			st.before = func() error { return at("before")("write") }
			st.after = func() error { return at("after")("write") }
			a.keep(thing{Size: "s"}, "one")
			other()
			for _, d := range []*desk{a, b, a, b} {
				clock.Step(2 * time.Minute)
				d.keep(thing{Size: "s"}, "one")
			}
			if got := s.keys(); len(got) != 1 || s.next != 1 {
				t.Errorf("there are %d things, and %d were made, want one; record %s", len(got), s.next, st.text)
			}
		})
	}
}
