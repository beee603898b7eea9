package freshness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// state is a state of an object in the model. An absent object has no UID.
type state struct {
	Form
	name                string
	finalizer, selected bool
}

func (s state) visible() bool { return s.UID != "" && s.selected }

// change is a write that the model's server executed.
type change struct {
	name          string
	before, after state
	version       uint64
	own           bool
}

// notice is an event that an informer still has to pass to its event handler.
type notice struct {
	name   string
	form   Form
	gone   bool
	relist bool
}

// informer is a cache that lags behind the server. Its event handler lags behind the cache.
type informer struct {
	watch   *Watch[string, *state]
	store   map[string]*state
	version uint64
	next    int // index in the server's log
	notices []notice
	blind   bool // the version of the store is not known
}

func (i *informer) Version() uint64 {
	if i.blind {
		return 0
	}
	return i.version
}

func (i *informer) Form(name string) Form {
	if s := i.store[name]; s != nil {
		return s.Form
	}
	return Form{}
}

// known returns the version that an informer's store has reached, as far as the ledger knows.
func (i *informer) known() uint64 { return max(i.watch.reached, i.Version()) }

// sent is an own write that has not completed.
type sent struct {
	*Flight[string, *state]
	name, verb string
	base       state
	applied    bool
	failed     bool
	answer     state
}

// trigger is a reconcile that a watch event requested.
type trigger struct {
	name    string
	version uint64
	relist  bool
}

// model is a server with writers, watches and a ledger, in one goroutine. The seed determines the order of the steps.
type model struct {
	t         *testing.T
	random    *rand.Rand
	exact     bool
	relists   bool
	ledger    *Ledger[string, *state]
	version   uint64
	log       []change
	now       map[string]state
	informers []*informer
	flying    []*sent
	triggers  []trigger
	// answers contains the versions of a name that the operator knows: from responses, and from reads before a deletion.
	answers map[string][]uint64
	landed  map[uint64]bool      // own versions that were answered
	removed map[types.UID]bool   // UIDs of own deletions that were answered
	floor   map[string]uint64    // the last own answered write of a name
	history map[string][]*change // changes of a name
	trace   []string
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), now: map[string]state{}, answers: map[string][]uint64{}, landed: map[uint64]bool{},
		removed: map[types.UID]bool{}, floor: map[string]uint64{}, history: map[string][]*change{},
	}
	m.exact, m.relists = seed%4 == 3, seed%4 != 0
	if m.exact {
		m.relists = false
	}
	m.ledger = New[string](Config[*state]{
		Form: func(s *state) Form { return s.Form },
		Deleting: func(s *state) *state {
			deleting := *s
			deleting.Deleting = true
			return &deleting
		},
		Exact: m.exact,
	})
	for range 1 + int(seed/4%2) {
		i := &informer{store: map[string]*state{}}
		i.blind = !m.relists && m.chance(2)
		i.watch = m.ledger.Watch(func(name string, _ *state) bool { return name != "elsewhere" }, Cache[string]{i.Version, i.Form}, func(s *state) {
			m.triggers = append(m.triggers, trigger{s.name, i.version, true})
		})
		m.informers = append(m.informers, i)
	}
	return m
}

func (m *model) chance(n int) bool { return m.random.IntN(n) == 0 }

func (m *model) say(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	for _, line := range m.trace {
		m.t.Log(line)
	}
	m.t.Fatalf(format, args...)
}

func (m *model) name() string { return []string{"a", "b", "elsewhere"}[min(m.random.IntN(9)/4, 2)] }

// set executes a write and returns the resulting state.
func (m *model) set(name string, after state, own bool) state {
	m.version++
	after.Version, after.name = m.version, name
	if after.UID == "" || after.Deleting && !after.finalizer {
		after = state{}
	}
	c := change{name, m.now[name], after, m.version, own}
	m.log = append(m.log, c)
	m.history[name] = append(m.history[name], &c)
	m.now[name] = after
	m.say("server: %s is %v at %d, own %v", name, after, m.version, own)
	return after
}

func (m *model) created() state {
	return state{Form: Form{UID: types.UID(fmt.Sprint("u", m.version+1))}, finalizer: m.chance(3), selected: m.exact || !m.chance(6)}
}

// foreign executes a write of another writer.
func (m *model) foreign() {
	name := m.name()
	s := m.now[name]
	verb := m.random.IntN(6)
	switch {
	case s.UID == "":
		s = m.created()
	case m.exact || verb < 2:
	case verb == 2:
		s.selected = !s.selected
	case verb == 3:
		s.finalizer = !s.finalizer && !s.Deleting
	default:
		s.Deleting = true
	}
	m.set(name, s, false)
}

// begin begins an own write, based on what the operator reads.
func (m *model) begin() {
	name := m.name()
	single := m.exact || slices.ContainsFunc(m.informers, func(i *informer) bool { return i.blind })
	if single && slices.ContainsFunc(m.flying, func(s *sent) bool { return s.name == name }) {
		return
	}
	read := m.read(name)
	for !m.exact && m.chance(2) {
		m.background()
	}
	s := &sent{name: name, verb: "create"}
	if read != nil {
		s.base = *read
		s.verb = []string{"update", "update", "same", "get", "delete", "release"}[m.random.IntN(6)]
		if m.exact {
			s.verb = "update"
		}
	}
	if m.exact && read == nil || (s.verb == "delete" || s.verb == "release") && !m.alone(s) {
		return
	}
	known := uint64(0)
	if m.exact {
		known = read.Version
		m.answers[name] = append(m.answers[name], known)
	}
	s.Flight = m.ledger.Begin(name, known)
	m.flying = append(m.flying, s)
	m.say("begin %s %s on %v", s.verb, name, s.base)
}

// alone reports whether no other own write removes the object: the reconciles of one owner are sequential.
func (m *model) alone(s *sent) bool {
	return m.floor[s.name] <= s.base.Version && !m.removed[s.base.UID] && !slices.ContainsFunc(m.flying, func(other *sent) bool {
		return other.name == s.name && (other.verb == "delete" || other.verb == "release")
	})
}

// proceed delivers an own write to the server, or its response to the operator.
func (m *model) proceed() {
	if len(m.flying) == 0 {
		return
	}
	i := m.random.IntN(len(m.flying))
	s := m.flying[i]
	if !s.applied {
		m.apply(s)
		return
	}
	m.flying = slices.Delete(m.flying, i, i+1)
	m.answer(s)
}

func (m *model) apply(s *sent) {
	s.applied = true
	now := m.now[s.name]
	other := now.UID != s.base.UID
	if s.failed = other || m.chance(12); s.failed && s.verb != "create" || s.verb != "create" && now.UID == "" {
		s.failed = true
		return
	}
	switch s.verb {
	case "create":
		if s.failed = now.UID != ""; s.failed {
			return
		}
		made := m.created()
		made.selected = true
		s.answer = m.set(s.name, made, true)
	case "update":
		now.selected = true
		s.answer = m.set(s.name, now, true)
	case "same", "get":
		s.answer = now
		s.failed = !now.visible()
	case "delete":
		s.answer = s.base
		if now.Deleting {
			return
		}
		now.Deleting = true
		m.set(s.name, now, true)
	case "release":
		if s.failed = now.Version != s.base.Version || now.Deleting; s.failed {
			return
		}
		now.selected = false
		s.answer = m.set(s.name, now, true)
	}
}

func (m *model) answer(s *sent) {
	m.say("answer to %s %s: %v, failed %v", s.verb, s.name, s.answer, s.failed)
	if s.failed || m.chance(20) {
		m.say("it fails")
		if s.Failed() {
			m.triggers = append(m.triggers, trigger{s.name, m.version, false})
		}
		return
	}
	answer := s.answer
	if !m.exact {
		m.answers[s.name] = append(m.answers[s.name], answer.Version)
	}
	if s.verb == "delete" {
		m.removed[answer.UID] = true
		s.Deleted(&answer)
		return
	}
	m.landed[answer.Version] = true
	if s.verb != "get" && s.verb != "same" || answer.Version > 0 {
		m.floor[s.name] = max(m.floor[s.name], answer.Version)
	}
	if s.verb == "release" {
		s.Released(&answer)
		return
	}
	if s.Wrote(&answer) && m.exact {
		m.triggers = append(m.triggers, trigger{s.name, m.version, false})
	}
}

// follow makes an informer's store receive the next event, or all events by a relist.
func (m *model) follow(i *informer) {
	if i.next == len(m.log) {
		return
	}
	if m.relists && m.chance(8) {
		m.relist(i)
		return
	}
	c := m.log[i.next]
	i.next++
	i.version = c.version
	if c.name == "elsewhere" {
		return // another kind
	}
	switch {
	case c.after.visible():
		i.store[c.name] = &c.after
		i.notices = append(i.notices, notice{name: c.name, form: c.after.Form})
	case c.before.visible():
		delete(i.store, c.name)
		form := c.before.Form
		form.Version = c.version
		i.notices = append(i.notices, notice{name: c.name, form: form, gone: true})
	}
}

func (m *model) relist(i *informer) {
	before := i.version
	i.next += 1 + m.random.IntN(len(m.log)-i.next)
	now := map[string]*state{}
	for _, c := range m.log[:i.next] {
		i.version = c.version
		delete(now, c.name)
		if c.name != "elsewhere" && c.after.visible() {
			now[c.name] = &c.after
		}
	}
	m.say("relist at %d", i.version)
	for name, s := range i.store {
		if now[name] == nil {
			i.notices = append(i.notices, notice{name: name, form: s.Form, gone: true, relist: true})
		}
	}
	for name, s := range now {
		if was := i.store[name]; was == nil || was.Version != s.Version {
			i.notices = append(i.notices, notice{name: name, form: s.Form, relist: true})
		}
	}
	for _, name := range []string{"a", "b"} {
		if i.store[name] == nil && now[name] == nil && m.ledger.entries[name] == nil &&
			!slices.ContainsFunc(m.flying, func(s *sent) bool {
				return s.name == name && s.verb != "delete" && s.answer.Version > before && !s.failed
			}) {
			m.triggers = append(m.triggers, trigger{name, i.version, true}) // an object that existed only in between does not matter to the operator
		}
	}
	i.store = now
}

// handle makes an informer's handler process the next notice.
func (m *model) handle(i *informer) {
	if len(i.notices) == 0 {
		return
	}
	n := i.notices[0]
	i.notices = i.notices[1:]
	m.say("watch shows %v", n)
	if n.gone {
		m.triggers = append(m.triggers, trigger{n.name, max(n.form.Version, i.version), true})
		i.watch.Gone(n.name, n.form)
		return
	}
	tell := func() { m.triggered(trigger{n.name, n.form.Version, n.relist}) }
	if m.exact {
		tell = nil
	}
	if i.watch.Shown(n.name, n.form, tell) != Known {
		m.triggered(trigger{n.name, n.form.Version, n.relist})
	}
}

// triggered checks that an echo of an own write alone does not trigger.
func (m *model) triggered(r trigger) {
	m.t.Helper()
	m.say("trigger %v", r)
	m.triggers = append(m.triggers, r)
	for _, c := range m.log {
		if c.version == r.version && c.own && m.landed[r.version] && !r.relist {
			m.fail("the echo of the own write %d triggered", r.version)
		}
	}
}

// read reads an object as the operator does, and checks the result.
func (m *model) read(name string) *state {
	i := m.informers[m.random.IntN(len(m.informers))]
	floor := m.floor[name]
	shown := i.known()
	for _, other := range m.informers {
		shown = min(shown, other.known())
	}
	if name != "elsewhere" {
		floor = max(floor, shown)
	}
	removed := map[types.UID]bool{}
	for uid := range m.removed {
		removed[uid] = true
	}
	view := m.ledger.View()
	defer view.End()
	cached := i.store[name]
	for range m.random.IntN(4) {
		m.background()
	}
	got := view.Newest(name, cached)
	m.say("read %s: %v over %v", name, got, cached)
	if name != "elsewhere" && !m.possible(name, floor, got, removed) {
		m.fail("read %s: got %v over %v, which the server had not at %d or later", name, got, cached, floor)
	}
	return got
}

// possible reports whether the server had a state at or after a revision, or whether its answered deletions explain it.
func (m *model) possible(name string, floor uint64, got *state, removed map[types.UID]bool) bool {
	if got != nil && removed[got.UID] && !got.Deleting && !m.returned(name, got.UID) {
		return false
	}
	current := state{}
	for n, c := range m.history[name] {
		current = c.after
		last := n == len(m.history[name])-1
		if !last && m.history[name][n+1].version <= floor {
			continue
		}
		switch {
		case got == nil && (!current.visible() || m.removed[current.UID]):
			return true
		case got != nil && got.UID == current.UID && got.Version == current.Version && (got.Deleting == current.Deleting || m.removed[got.UID]):
			return true
		}
	}
	// Before the first change the object did not exist. Before the next change, the last state of the floor applied.
	first := len(m.history[name]) == 0 || m.history[name][0].version > floor
	return got == nil && first
}

// returned reports whether a write made watches select an object again. Then it is not known whether its deletion was before
// or after that write.
func (m *model) returned(name string, uid types.UID) bool {
	return slices.ContainsFunc(m.history[name], func(c *change) bool {
		return c.before.UID == uid && !c.before.selected && c.after.selected
	})
}

func (m *model) background() {
	i := m.informers[m.random.IntN(len(m.informers))]
	switch m.random.IntN(8) {
	case 0, 1:
		m.foreign()
	case 2, 3:
		m.follow(i)
	case 4, 5:
		m.handle(i)
	default:
		m.proceed()
	}
}

func (m *model) run(steps int) {
	for range steps {
		switch m.random.IntN(5) {
		case 0:
			m.begin()
		case 1:
			m.read(m.name())
		default:
			m.background()
		}
	}
	for len(m.flying) > 0 {
		m.proceed()
	}
	m.read("a")
	m.read("b")
	for len(m.flying) > 0 {
		m.proceed()
	}
	m.catchUp()
	for kept := m.ledger.Kept(); kept >= 0; kept-- { // a watch drops writes that it never shows when later events arrive
		m.set("last", state{Form: Form{UID: "last"}, selected: true}, false)
		m.catchUp()
	}
	m.checkTriggers()
	if kept := m.ledger.Kept(); kept > 0 || len(m.ledger.views)+len(m.ledger.flights) > 0 {
		for key, e := range m.ledger.entries {
			m.say("held of %s: %+v, deleted %v, state %v, waits %v", key, e.Form, e.deleted, e.state, e.waits)
		}
		m.fail("the watches have shown everything, and %d writes, %d views and %d flights are held", kept, len(m.ledger.views), len(m.ledger.flights))
	}
}

func (m *model) catchUp() {
	for _, i := range m.informers {
		for i.next < len(m.log) {
			m.follow(i)
		}
		for len(i.notices) > 0 {
			m.handle(i)
		}
	}
}

// checkTriggers checks that the operator knows each change by another writer: a watch event triggered, or a response included
// the change.
func (m *model) checkTriggers() {
	for _, c := range m.log {
		if c.own || c.name == "elsewhere" || !c.before.visible() && !c.after.visible() || m.removed[c.before.UID] {
			continue // after its own deletion, the operator reads again
		}
		known := slices.ContainsFunc(m.triggers, func(r trigger) bool { return r.name == c.name && r.version >= c.version })
		if !known && !slices.ContainsFunc(m.answers[c.name], func(v uint64) bool { return v >= c.version }) {
			m.fail("%d, which another writer made of %s, triggered nothing", c.version, c.name)
		}
	}
}

// TestLedgerAgainstModel executes random sequences of writes, responses, watch events, relists and reads.
func TestLedgerAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4000) {
		m := newModel(t, seed)
		m.run(20 + int(seed%80))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzLedger(f *testing.F) {
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) { newModel(t, seed).run(int(steps)) })
}
