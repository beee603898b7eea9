package providers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/providers"
)

// Each response of the system and of the API server is lost once, before or after its effect, and the operator
// continues to run: the system holds exactly what it should.
func TestAnswerLostAtEveryMoment(t *testing.T) {
	t.Parallel()
	moments := 0
	for lostAt(t, moments) {
		moments++
	}
	if moments < 60 {
		t.Errorf("there were only %d answers to lose", moments)
	}
}

// lostAt executes everything, but loses the nth response. It returns false if there are fewer responses.
func lostAt(t *testing.T, n int) bool {
	t.Helper()
	s, st, clock := newSystem(), &store{}, newClock()
	var left atomic.Int64
	left.Store(int64(n))
	lose := func(string) error {
		if left.Add(-1) == -1 {
			return fmt.Errorf("answer %d is lost", n)
		}
		return nil
	}
	s.before, s.after = lose, lose
	st.before = func() error { return lose("write") }
	st.after = st.before
	d := newDesk(t, clock, st, finding{s})
	for _, names := range [][]string{numbered(5), numbered(2)} {
		for range 5 {
			d.keep(thing{Size: "s"}, names...)
			clock.Step(time.Minute)
		}
		if got := s.keys(); !slices.Equal(got, wanted(names)) || s.next > 5 {
			t.Errorf("without answer %d: there are %q, and %d were made\n%s", n, got, s.next, st.text)
			return false
		}
	}
	return left.Load() < 0
}

// A creation that the API server did not record is recorded by the next reconcile of the same process: no user
// has to look for the resource, even if the system cannot find it by key.
func TestNotedLater(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, s)
	writes := 0
	st.before = func() error {
		if writes++; writes == 2 { // the first one writes the mark
			return errors.New("the API server is away")
		}
		return nil
	}
	if result := d.keep(thing{}, "one"); result.WriteErr == nil || s.next != 1 {
		t.Fatalf("made %d, the write ended with %v", s.next, result.WriteErr)
	}
	if result := d.keep(thing{}, "one"); result.Outcome.Kind() != outcome.KindDone || s.next != 1 {
		t.Errorf("afterwards: %v, made %d", result.Outcome, s.next)
	}
}

// An owner that is forgotten, because another shard has it meanwhile, and comes back may have a creation in doubt: it is not repeated.
func TestForgottenMark(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, s)
	s.after = func(string) error { return errors.New("the answer is lost") }
	if result := d.keep(thing{}, "one"); result.Outcome.Kind() == outcome.KindDone || s.next != 1 {
		t.Fatalf("made %d: %v", s.next, result.Outcome)
	}
	s.after = nil
	for range 10 {
		d.Forget(types.NamespacedName{Name: "owner"})
		if result := d.keep(thing{}, "one"); result.Outcome.Kind() == outcome.KindDone || s.next != 1 {
			t.Fatalf("made %d: %v", s.next, result.Outcome)
		}
		d.clock.Step(time.Minute)
	}
}

// Credentials expire before any of ten creations, in the middle of a reconcile: what was created stays, the rest is
// created as soon as there are new credentials, and no user has to clean up.
func TestCredentialsExpireMidway(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]func(*system) external.Provider[thing, thing]{
		"found by key":    func(s *system) external.Provider[thing, thing] { return finding{s} },
		"not to be found": func(s *system) external.Provider[thing, thing] { return s },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for good := range 10 {
				expireAfter(t, provider, int64(good))
			}
		})
	}
}

func expireAfter(t *testing.T, provider func(*system) external.Provider[thing, thing], good int64) {
	t.Helper()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, provider(s), external.System("host", "1"))
	var left atomic.Int64
	left.Store(good)
	s.before = func(call string) error {
		if left.Load() <= 0 || call == "create" && left.Add(-1) < 0 {
			return external.AsDenied(errors.New("the password expired"))
		}
		return nil
	}
	if result := d.keep(thing{}, numbered(10)...); result.Outcome.Reason() != providers.ReasonDenied || !strings.Contains(result.Outcome.Message(), "the password expired") {
		t.Errorf("after %d creations: %v", good, result.Outcome)
	}
	if made := len(s.keys()); made > int(good) {
		t.Errorf("%d are made, the credentials were good for %d", made, good)
	}
	s.before = nil
	d.options = append(d.options, external.System("host", "2"))
	result := d.keep(thing{}, numbered(10)...) // the clock does not advance
	if got := s.keys(); result.Outcome.Kind() != outcome.KindDone || !slices.Equal(got, wanted(numbered(10))) || s.next != 10 {
		t.Errorf("after %d creations, with other credentials: %v, %d are made\n%s", good, result.Outcome, s.next, st.text)
	}
}

// babbling returns garbage for one id.
type babbling struct {
	finding
	about *string
}

func (b babbling) Observe(ctx context.Context, id string, want thing) (external.Observation[thing], error) {
	seen, err := b.finding.Observe(ctx, id, want)
	if id == *b.about {
		return external.Observation[thing]{}, external.AsGarbage(errors.New("no JSON"))
	}
	return seen, err
}

// If the system returns garbage for one thing for an hour, that thing is not changed and is observed at growing intervals.
// The other one is handled as usual.
func TestGarbageForAnHour(t *testing.T) {
	t.Parallel()
	s, st, about := newSystem(), &store{}, ""
	d := newDesk(t, newClock(), st, babbling{finding{s}, &about}, external.Poll(5*time.Minute))
	d.keep(thing{Size: "s"}, "one", "two")
	about = d.idOf("one")
	d.clock.Step(6 * time.Minute)
	s.called()
	told := map[string]bool{}
	for range 3600 {
		result := d.keep(thing{Size: "s"}, "one", "two")
		told[result.Outcome.Message()] = true
		known := result.Known["thing"]
		if result.Outcome.Reason() != providers.ReasonGarbage || result.Unknown || !known[0].Exists || known[0].Ready || !known[1].Ready {
			t.Fatalf("the outcome is %v, known is %+v", result.Outcome, known)
		}
		d.clock.Step(time.Second)
	}
	calls := s.called()
	if slices.ContainsFunc(calls, func(call string) bool { return call != "look" }) || len(calls) < 20 || len(calls) > 40 || len(told) != 1 {
		t.Errorf("in an hour the calls were %q, and it was told as %v", calls, told)
	}
	d.keep(thing{Size: "l"}, "one", "two")
	if s.things[d.idOf("two")].Size != "l" || s.things[about].Size != "s" {
		t.Errorf("there are %v", s.things)
	}
	about = ""
	d.clock.Step(6 * time.Minute)
	if result := d.keep(thing{Size: "l"}, "one", "two"); result.Outcome.Kind() != outcome.KindDone || s.things[d.idOf("one")].Size != "l" || s.next != 2 {
		t.Errorf("afterwards: %v, made %d", result.Outcome, s.next)
	}
}

// idOf returns the recorded id of a thing.
func (d *desk) idOf(name string) string {
	d.Helper()
	record, err := external.ParseRecord(d.store.text, uid)
	if err != nil {
		d.Fatal(err)
	}
	return record.Entries[ref(name)].ID
}

// garbled creates a thing and returns an invalid id.
type garbled struct {
	finding
	id string
}

func (g garbled) Create(ctx context.Context, mark external.Mark, want thing) (string, error) {
	_, err := g.finding.Create(ctx, mark, want)
	return g.id, err
}

// Whatever a creation returns, the created thing is found by its key and not created again.
func TestGarbledID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", strings.Repeat("x", 2000)} {
		s, st := newSystem(), &store{}
		d := newDesk(t, newClock(), st, garbled{finding{s}, id})
		if result := d.keep(thing{}, "one"); result.Outcome.Reason() != providers.ReasonGarbage {
			t.Errorf("the outcome is %v", result.Outcome)
		}
		d.clock.Step(2 * time.Second)
		if result := d.keep(thing{}, "one"); result.Outcome.Kind() != outcome.KindDone || s.next != 1 {
			t.Errorf("afterwards: %v, made %d", result.Outcome, s.next)
		}
	}
}

// While a system does not respond, which two owners have found, one call at a time tries it, and others do not wait for it.
func TestOneTries(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	s.before = func(string) error { return errors.New("away") }
	second := d.task(thing{}, external.Wish{}, nil, "one")
	second.Owner.Name, second.UID = "second", "second"
	d.keep(thing{}, "one")
	d.Keep(d.Context(), second)
	d.clock.Step(2 * time.Second)
	tried, answer, ended := make(chan struct{}), make(chan struct{}), make(chan providers.Result)
	var calls atomic.Int64
	s.before = func(string) error {
		if calls.Add(1) == 1 {
			close(tried)
			<-answer
		}
		return nil
	}
	task, other := d.task(thing{}, external.Wish{}, nil, "one"), d.task(thing{}, external.Wish{}, nil, "one")
	other.Owner.Name, other.UID = "other", "other"
	go func() { ended <- d.Keep(d.Context(), task) }()
	<-tried
	meanwhile := d.Keep(d.Context(), other)
	close(answer)
	if first := <-ended; first.Outcome.Kind() != outcome.KindDone || meanwhile.Outcome.Reason() != providers.ReasonAway {
		t.Errorf("who tries: %v, who comes meanwhile: %v", first.Outcome, meanwhile.Outcome)
	}
}

// If a provider panics while it checks whether its system is available again, the system is still checked later.
func TestAPanicIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := newSystem()
	d := newDesk(t, newClock(), &store{}, finding{s})
	s.before = func(string) error { return errors.New("away") }
	d.keep(thing{}, "one")
	d.clock.Step(2 * time.Second)
	s.before = func(string) error { panic(crash{}) }
	if !d.keepUntilCrash("one") {
		t.Fatal("it did not panic")
	}
	s.before = nil
	d.clock.Step(2 * time.Second)
	if result := d.keep(thing{}, "one"); result.Outcome.Kind() != outcome.KindDone {
		t.Errorf("the system is back: %v", result.Outcome)
	}
}

// A call that ends as the operator stops, or the reconcile's time is over, says nothing about the system.
func TestStopIsNoOutage(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	ctx, stop := context.WithCancel(t.Context())
	s.before = func(string) error {
		stop()
		return ctx.Err()
	}
	d.Keep(ctx, d.task(thing{}, external.Wish{}, nil, "one"))
	s.before = nil
	other := d.task(thing{}, external.Wish{}, nil, "one")
	other.Owner.Name, other.UID = "other", "other"
	if result := d.Keep(t.Context(), other); result.Outcome.Kind() != outcome.KindDone {
		t.Errorf("another object: %v", result.Outcome)
	}
}

// shy shows a created thing only from the third observation on.
type shy struct {
	finding
	looks *int
}

func (s shy) Observe(ctx context.Context, id string, want thing) (external.Observation[thing], error) {
	seen, err := s.finding.Observe(ctx, id, want)
	if *s.looks++; *s.looks < 3 {
		seen.Exists = false
	}
	return seen, err
}

func (shy) Find(context.Context, string) (string, error) { return "", nil }

// A thing that was created a moment ago and is not visible yet is waited for, and not created again.
func TestShownLater(t *testing.T) {
	t.Parallel()
	s, st, looks := newSystem(), &store{}, 0
	d := newDesk(t, newClock(), st, shy{finding{s}, &looks})
	d.expect(s, d.keep(thing{}, "one"), external.ReasonNotReady, 2, "create", "look")
	for range 5 {
		d.clock.Step(3 * time.Second)
		d.keep(thing{}, "one")
	}
	if result := d.keep(thing{}, "one"); result.Outcome.Kind() != outcome.KindDone || s.next != 1 {
		t.Errorf("in the end: %v, made %d", result.Outcome, s.next)
	}
}

// bounded fails each call that may last longer than it should.
type bounded struct {
	finding
	limit time.Duration
}

func (b bounded) check(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > b.limit {
		return external.AsRefused(fmt.Errorf("the deadline is %v", deadline))
	}
	return nil
}

func (b bounded) Observe(ctx context.Context, id string, want thing) (external.Observation[thing], error) {
	seen, err := b.finding.Observe(ctx, id, want)
	return seen, errors.Join(b.check(ctx), err)
}

func (b bounded) Create(ctx context.Context, mark external.Mark, want thing) (string, error) {
	id, err := b.finding.Create(ctx, mark, want)
	return id, errors.Join(b.check(ctx), err)
}

func (b bounded) Find(ctx context.Context, key string) (string, error) {
	id, err := b.finding.Find(ctx, key)
	return id, errors.Join(b.check(ctx), err)
}

// Each call has a context that ends when the limit is over.
func TestLimit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, newClock(), &store{}, bounded{finding{newSystem()}, 3 * time.Second}, external.Limit(3*time.Second))
	if result := d.keep(thing{}, "one"); result.Outcome.Kind() != outcome.KindDone {
		t.Error(result.Outcome)
	}
}

// If a creation waited for its turn until its mark expired, it is marked again first: another process that saw the mark would
// consider it over.
func TestTurnAfterTheMark(t *testing.T) {
	t.Parallel()
	s, st := newSystem(), &store{}
	d := newDesk(t, newClock(), st, finding{s})
	s.before = func(call string) error {
		if call == "create" {
			d.clock.Step(external.DefaultLimit + time.Second)
		}
		return nil
	}
	names := numbered(5) // four calls run concurrently
	for range 5 {
		d.keep(thing{}, names...)
	}
	if got := s.keys(); !slices.Equal(got, wanted(names)) || s.next != 5 || st.writes < 3 {
		t.Errorf("there are %q, %d were made, by %d writes, want another mark", got, s.next, st.writes)
	}
}
