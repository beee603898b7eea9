package providers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/providers"
)

// expect checks the result of a reconcile: its outcome, calls and writes.
func (d *desk) expect(s *system, result providers.Result, reason string, writes int, calls ...string) {
	d.Helper()
	if result.WriteErr != nil || result.Outcome.Reason() != reason {
		d.Errorf("the outcome is %v (%v), want %q", result.Outcome, result.WriteErr, reason)
	}
	if got := s.called(); !slices.Equal(got, calls) {
		d.Errorf("the calls are %q, want %q", got, calls)
	}
	if d.store.writes != writes {
		d.Errorf("there were %d writes, want %d", d.store.writes, writes)
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	small, large := thing{Size: "s"}, thing{Size: "l"}
	d.expect(s, d.keep(small, "one"), "", 2, "find", "create", "look")
	d.expect(s, d.keep(small, "one"), "", 2)
	d.clock.Step(59 * time.Second)
	d.expect(s, d.keep(small, "one"), "", 2)
	d.clock.Step(8 * time.Second)
	d.expect(s, d.keep(small, "one"), "", 2, "look")
	d.expect(s, d.keep(large, "one"), "", 2, "look", "update", "look")
	d.expect(s, d.keep(large), "", 3, "look", "delete", "look")
	if len(s.things) > 0 || st.text != "" {
		t.Errorf("left are %v and the record %q", s.things, st.text)
	}
}

// Ten things need two writes: one for the marks, and one for the IDs. A new process writes nothing.
func TestWritesAreShared(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	d.keep(thing{}, numbered(10)...)
	if st.writes != 2 || len(s.things) != 10 {
		t.Errorf("%d things took %d writes", len(s.things), st.writes)
	}
	d = newDesk(t, d.clock, st, finding{s})
	if d.keep(thing{}, numbered(10)...); st.writes != 2 {
		t.Error("a new process wrote")
	}
}

// The resources of an object are observed together, although each observation is delayed by a random time.
func TestLooksAreShared(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	d.keep(thing{}, numbered(10)...)
	s.called()
	rounds := 0
	for range 600 {
		d.clock.Step(time.Second)
		d.keep(thing{}, numbered(10)...)
		switch looks := len(s.called()); looks {
		case 0:
		case 10:
			rounds++
		default:
			t.Errorf("%d of ten are looked at", looks)
		}
	}
	if rounds < 8 || rounds > 10 {
		t.Errorf("in ten minutes they are looked at %d times", rounds)
	}
}

// A lost record is written again, and nothing is created for it.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	d.keep(thing{}, numbered(3)...)
	st.text = ""
	s.called()
	d = newDesk(t, d.clock, st, finding{s})
	d.expect(s, d.keep(thing{}, numbered(3)...), "", 3, "find", "find", "find", "look", "look", "look")
	if s.next != 3 {
		t.Errorf("%d things were made, want 3", s.next)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	d.keep(thing{Color: "red"}, "one")
	s.called()
	d.expect(s, d.keep(thing{Color: "blue"}, "one"), external.ReasonImmutable, 2, "look")
	d.expect(s, d.keep(thing{Color: "blue"}, "one"), external.ReasonImmutable, 2)
	s.lingers = true
	replace := external.Wish{Policy: external.Policy{Replace: true}}
	d.expect(s, d.keepAs(thing{Color: "green"}, replace, nil, "one"), external.ReasonDeleting, 2, "look", "delete", "look")
	d.clock.Step(2 * time.Second)
	d.expect(s, d.keepAs(thing{Color: "green"}, replace, nil, "one"), "", 5, "look", "find", "create", "look")
}

// While a system is unavailable, one call for all resources tries it at growing intervals: about forty times in an hour for a
// hundred objects that each request a call every second. Known data stays known.
func TestAwayForAnHour(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	d.keep(thing{Size: "s"}, numbered(5)...)
	s.called()
	var n atomic.Int32
	s.before = func(string) error { return fmt.Errorf("connection refused, attempt %d", n.Add(1)) }
	d.clock.Step(2 * time.Minute)
	told := map[string]bool{}
	for range 3600 {
		result := d.keep(thing{Size: "s"}, numbered(5)...)
		told[result.Outcome.Message()] = true
		if result.Outcome.Reason() != providers.ReasonAway || result.Outcome.After() <= 0 || result.Unknown {
			t.Fatalf("the outcome is %v, unknown %v", result.Outcome, result.Unknown)
		}
		if known := result.Known["thing"]; len(known) != 5 || !known[0].Exists || known[0].Ready {
			t.Fatalf("known is %+v", known)
		}
		d.clock.Step(time.Second)
	}
	if calls := len(s.called()); calls < 20 || calls > 60 {
		t.Errorf("in an hour there were %d calls, want 20 to 60", calls)
	}
	if len(told) != 1 {
		t.Errorf("an outage is told in %d ways: %v", len(told), told)
	}
	s.before = nil
	d.clock.Step(5 * time.Minute)
	d.keep(thing{Size: "s"}, numbered(5)...) // one call tries, and concurrent ones are retried later
	d.clock.Step(2 * time.Second)
	if result := d.keep(thing{Size: "s"}, numbered(5)...); result.Outcome.Kind() != outcome.KindDone {
		t.Errorf("after it is back: %v", result.Outcome)
	}
	// A process that started in the meantime knows nothing, and reports that.
	s.before = func(string) error { return errors.New("away") }
	if result := newDesk(t, d.clock, st, finding{s}).keep(thing{}, "0"); !result.Unknown {
		t.Errorf("a new process takes what it cannot see for known: %+v", result)
	}
}

// Expired credentials are reported. New credentials are used at once.
func TestCredentials(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s}, external.System("host", "1"))
	d.keep(thing{}, "one")
	s.before = func(string) error { return external.AsDenied(errors.New("the password expired")) }
	d.clock.Step(2 * time.Minute)
	s.called()
	d.expect(s, d.keep(thing{}, "one"), providers.ReasonDenied, 2, "look")
	d.expect(s, d.keep(thing{}, "one"), providers.ReasonDenied, 2)
	s.before = nil
	d.options = append(d.options, external.System("host", "2"))
	d.expect(s, d.keep(thing{}, "one"), "", 2, "look")
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		reason string
		text   string
	}{
		"garbage": {external.AsGarbage(errors.New("no JSON")), providers.ReasonGarbage, "thing/one: host: no JSON"},
		"refused": {external.AsRefused(errors.New("size 99 is too large")), providers.ReasonRefused, "thing/one: host: size 99 is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, st := newSystem(), &store{}
			d := newDesk(t, newClock(), st, finding{s}, external.System("host", ""))
			s.before = func(call string) error {
				if call == "create" {
					return c.err
				}
				return nil
			}
			result := d.keep(thing{Size: "99"}, "one")
			if !strings.Contains(result.Outcome.Message(), c.text) || result.Outcome.After() <= 0 {
				t.Errorf("the outcome is %v after %v, want %q", result.Outcome, result.Outcome.After(), c.text)
			}
			d.expect(s, result, c.reason, 1, "find", "create")
			d.expect(s, d.keep(thing{Size: "99"}, "one"), c.reason, 1)
			s.before = nil
			d.clock.Step(2 * time.Minute)
			if result := d.keep(thing{Size: "1"}, "one"); result.Outcome.Kind() != outcome.KindDone || s.next != 1 {
				t.Errorf("afterwards: %v, made %d", result.Outcome, s.next)
			}
		})
	}
}

// nameless returns an empty ID.
type nameless struct{ finding }

func (n nameless) Create(context.Context, external.Mark, thing) (string, error) { return "", nil }

func TestEmptyID(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	result := newDesk(t, newClock(), st, nameless{finding{s}}).keep(thing{}, "one")
	if result.Outcome.Reason() != providers.ReasonGarbage || !strings.Contains(result.Outcome.Message(), "empty id") {
		t.Errorf("the outcome is %v", result.Outcome)
	}
}

// If a system that cannot be queried by key rejects a resource, no mark remains that a person would have to remove.
func TestRefusedLeavesNoMark(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	s.before = func(call string) error { return external.AsRefused(errors.New("no " + call)) }
	d := newDesk(t, newClock(), st, s)
	if d.keep(thing{}, "one"); st.text != "" {
		t.Errorf("the record is %s", st.text)
	}
	s.before = nil
	d = newDesk(t, d.clock, st, s)
	if result := d.keep(thing{}, "one"); result.Outcome.Kind() != outcome.KindDone {
		t.Errorf("the next process: %v", result.Outcome)
	}
}

// Calls beyond the rate limit are delayed, and the last observation is used in the meantime.
func TestRate(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	d.keep(thing{}, numbered(4)...)
	d.options = []external.KindOption{external.Rate(2, 3*time.Second), external.System("slow", "")}
	s.called()
	d.clock.Step(2 * time.Minute)
	result := d.keep(thing{}, numbered(4)...)
	if calls := len(s.called()); calls != 2 || result.Outcome.Kind() != outcome.KindDone || result.Outcome.After() <= 0 || !result.Known["thing"][3].Ready {
		t.Errorf("%d calls, %v after %v", calls, result.Outcome, result.Outcome.After())
	}
}

// Things that were created at the same time are observed again at different times, up to a tenth later than configured.
func TestLooksAreSpread(t *testing.T) {
	t.Parallel()
	all := map[time.Duration]bool{}
	for range 20 {
		after := newDesk(t, newClock(), &store{}, finding{newSystem()}).keep(thing{}, "one").Outcome.After()
		if all[after] = true; after < time.Minute || after > 66*time.Second {
			t.Errorf("it is looked at again after %s, want 60 to 66 s", after)
		}
	}
	if len(all) < 2 {
		t.Errorf("all are looked at again after the same time: %v", all)
	}
}

// A rehearsal observes and changes nothing.
func TestRehearse(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	result := d.rehearse("one")
	if s.next > 0 || st.writes > 0 || len(result.Deeds) != 1 || result.Deeds[0].Verb != external.MarkIt {
		t.Errorf("made %d, wrote %d, would %+v", s.next, st.writes, result.Deeds)
	}
}

// A call that waits until its mark has expired does not create anything under it: other processes consider the mark over some
// time after it was set.
func TestACreationWaitsNoLongerThanItsMark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, st := newSystem(), &store{}
		d := &desk{T: t, Keeper: providers.NewKeeper(clock.RealClock{}, nil), store: st, provider: finding{s}}
		var marked time.Time
		st.after = func() error {
			marked = time.Now()
			return nil
		}
		limit := 300 * time.Millisecond
		s.before = func(call string) error {
			if age := time.Since(marked); call == "create" && age > limit {
				t.Errorf("a creation begins %s after its mark, which is good for %s", age, limit)
			}
			return nil
		}
		d.options = []external.KindOption{external.Limit(limit), external.Rate(1, 600*time.Millisecond)}
		d.keep(thing{Size: "s"}, "a")
		if len(s.keys()) > 0 {
			t.Errorf("there are %q", s.keys())
		}
		limit = time.Second
		d.options = []external.KindOption{external.Limit(limit), external.Rate(1, 600*time.Millisecond)}
		d.keep(thing{Size: "s"}, "a")
		if len(s.keys()) != 1 {
			t.Errorf("there are %q, want one", s.keys())
		}
	})
}

// A user who may write an object can write the id of another tenant's resource into its record. That resource is neither
// changed, nor deleted, nor read.
func TestForgedRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry string
		wish  external.Wish
		said  map[external.Ref]string
		names []string
	}{
		"changed":  {`{"id":"id-of-b"}`, external.Wish{}, nil, []string{"one"}},
		"replaced": {`{"id":"id-of-b"}`, external.Wish{Policy: external.Policy{Replace: true}}, nil, []string{"one"}},
		"read":     {`{"id":"id-of-b"}`, external.Wish{Policy: external.Policy{Observe: true}}, nil, []string{"one"}},
		"deleted":  {`{"id":"id-of-b"}`, external.Wish{}, nil, nil},
		"resolved": {`{"token":"t","by":"another"}`, external.Wish{}, map[external.Ref]string{ref("one"): "id-of-b"}, []string{"one"}},
		"left":     {`{"token":"t","by":"another"}`, external.Wish{}, map[external.Ref]string{ref("one"): "id-of-b"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem()
			theirs := thing{Size: "theirs", Color: "red", key: external.KeyOf("tenant-b", ref("one"))}
			s.things["id-of-b"] = theirs
			st := &store{text: fmt.Sprintf(`{"version":1,"owner":%q,"resources":{"thing/one":%s}}`, uid, c.entry)}
			d := newDesk(t, newClock(), st, finding{s})
			for range 4 {
				result := d.keepAs(thing{Size: "s"}, c.wish, c.said, c.names...)
				for _, known := range result.Known["thing"] {
					if known.State == any(theirs) || string(known.Details["address"]) == "id-of-b" {
						t.Errorf("known is %+v", known)
					}
				}
				if strings.Contains(c.entry, "id-of-b") && (result.Outcome.Reason() != external.ReasonForeign || len(c.names) > 0 && !result.Unknown) {
					t.Errorf("the outcome is %v", result.Outcome)
				}
				d.clock.Step(2 * time.Minute)
			}
			if s.things["id-of-b"] != theirs {
				t.Errorf("the other tenant's resource is %+v", s.things["id-of-b"])
			}
		})
	}
}

// A record of an earlier process is verified once by key. Later observations cost nothing more.
func TestRecordIsProvenOnce(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	d.keep(thing{}, "one")
	d = newDesk(t, d.clock, st, finding{s})
	s.called()
	d.expect(s, d.keep(thing{}, "one"), "", 2, "look", "find")
	d.clock.Step(2 * time.Minute)
	d.expect(s, d.keep(thing{}, "one"), "", 2, "look")
}
