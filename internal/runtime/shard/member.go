package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// Config of a member. All fields but Clock are required.
type Config struct {
	// Client reads and writes Leases, without a cache. It may be set until Start.
	Client client.WithWatch
	// Namespace is where the Leases are, and Operator the name that they begin with.
	Namespace, Operator string
	// Name of this replica, which no other has.
	Name string
	// Slots is into how many the objects are cut, unless other replicas have done that already.
	Slots int
	// Lease is how long others wait for a sign of life; whole seconds.
	Lease time.Duration
	Log   logr.Logger
	// Clock tells the time, for tests. Nil: the system's.
	Clock clock.PassiveClock
}

// Member is one of several replicas that share objects.
type Member struct {
	Config
	timing timing
	kick   chan struct{}
	// renewal has something in it while the lease is written.
	renewal chan struct{}

	mu sync.Mutex
	// id is the name and how often it began anew.
	id    string
	lives int
	own   *coordinationv1.Lease
	// renewed is when the last renewal was sent that the API server took.
	renewed time.Time
	// seen are the other members, by id.
	seen map[string]*sight
	// lease is the table's, nil where there is none; parsed is what it says, nil where that cannot be read.
	lease  *coordinationv1.Lease
	parsed *shardtable.Table
	// bare is since when there is no table that can be read; shared: the last one gave slots to others.
	bare   time.Time
	shared bool
	// grants are of the slots that are worked on, drained are those that wait to be given away, and given those
	// that a write over the table gave away, of which it is not known yet whether it took effect.
	grants         map[int]*grant
	drained, given map[int]bool
	// followers are told of slots.
	followers map[follower]bool
	leaving   bool
	told      int // the number of slots that was told to be another than ours
}

// sight is what was seen of another member.
type sight struct {
	lease *coordinationv1.Lease
	// at is when it last showed a sign of life, on the clock of this machine.
	at time.Time
	// gone: its lease was deleted, which says nothing yet of when it notices.
	gone bool
}

// follower is told which slots there is work on. It must not block.
type follower interface {
	opened(slot int)
	closed(slot int)
}

// Check tells what is wrong with a number of slots and a lease.
func Check(slots int, lease time.Duration) error {
	if err := shardtable.Valid(slots); err != nil {
		return err
	}
	_, err := timingOf(lease)
	return err
}

// New returns a member, which does nothing before Start.
func New(cfg Config) (*Member, error) {
	if err := Check(cfg.Slots, cfg.Lease); err != nil {
		return nil, err
	}
	timing, err := timingOf(cfg.Lease)
	if err != nil {
		return nil, err
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	return &Member{
		Config: cfg, timing: timing, kick: make(chan struct{}, 1), renewal: make(chan struct{}, 1),
		seen: map[string]*sight{}, grants: map[int]*grant{}, drained: map[int]bool{}, given: map[int]bool{}, followers: map[follower]bool{},
		bare: cfg.Clock.Now(),
	}, nil
}

// NeedLeaderElection tells the manager that every replica runs this.
func (m *Member) NeedLeaderElection() bool { return false }

// Start takes part until ctx ends, and then gives everything away.
func (m *Member) Start(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	synced := m.watch(life)
	select {
	case <-ctx.Done():
		return nil
	case <-synced:
	}
	m.join(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { m.renewing(life) })
	m.loop(ctx, life)
	m.leave(life)
	end()
	renewing.Wait()
	return nil
}

// wake lets the member look again.
func (m *Member) wake() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// loop decides, again and again, until the member is told to stop.
func (m *Member) loop(ctx, life context.Context) {
	for ctx.Err() == nil {
		again := m.step(life)
		select {
		case <-ctx.Done():
		case <-m.kick:
		case <-time.After(again):
		}
	}
}

// leave gives away all that is held, for as long as others would wait anyway.
func (m *Member) leave(life context.Context) {
	patient, cancel := context.WithTimeout(life, m.timing.lease)
	defer cancel()
	m.mu.Lock()
	m.leaving = true
	m.mu.Unlock()
	m.renew(patient) // says so
	for patient.Err() == nil && m.holds() {
		again := m.step(patient)
		select {
		case <-patient.Done():
		case <-m.kick:
		case <-time.After(again):
		}
	}
	m.revokeAll()
	m.remove(patient)
}

// holds tells whether there is anything to give away.
func (m *Member) holds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.grants) > 0 || m.parsed != nil && len(m.parsed.Held(m.id)) > 0
}

// valid tells whether nobody can have taken our slots, nor can while a write is under way.
func (m *Member) valid() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.isValid()
}

func (m *Member) isValid() bool { return m.own != nil && m.elapsed(m.renewed) < m.timing.valid }

// grantOf is the right to work on an object, or nil. The lock is held.
func (m *Member) grantOf(uid types.UID) (*grant, int) {
	if m.parsed == nil {
		return nil, 0
	}
	slot := m.parsed.SlotOf(uid)
	return m.grants[slot], slot
}

// Holds counts the slots that there is work on, and the slots that there are.
func (m *Member) Holds() (held, slots int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parsed == nil {
		return 0, 0
	}
	return len(m.grants), m.parsed.Slots()
}

// work begins to work on slots. The lock is held.
func (m *Member) work(slots []int) {
	for _, slot := range slots {
		if g := m.grants[slot]; g != nil || !m.isValid() {
			continue
		}
		delete(m.drained, slot)
		m.grants[slot] = newGrant()
		for f := range m.followers {
			f.opened(slot)
		}
	}
}

// drain stops work on slots, and lets the member look again when that has ended. The lock is held.
func (m *Member) drain(life context.Context, slots []int) {
	for _, slot := range slots {
		g := m.grants[slot]
		if g == nil {
			m.drained[slot] = true
			m.wake()
			continue
		}
		if g.isClosing() {
			continue
		}
		g.close()
		go func() {
			g.drain(life, m.timing.drain)
			m.drop(slot, g)
		}()
	}
}

// drop ends a grant that nothing is done by any more.
func (m *Member) drop(slot int, g *grant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.wake()
	if m.grants[slot] != g {
		return
	}
	delete(m.grants, slot)
	m.drained[slot] = true
	for f := range m.followers {
		f.closed(slot)
	}
}

// revoke ends work on slots that are not ours any more, at once. The lock is held.
func (m *Member) revoke(lost func(slot int) bool) {
	for slot, g := range maps.Clone(m.grants) {
		if !lost(slot) {
			continue
		}
		g.revoke()
		delete(m.grants, slot)
		for f := range m.followers {
			f.closed(slot)
		}
	}
	maps.DeleteFunc(m.drained, func(slot int, _ bool) bool { return lost(slot) })
}

func (m *Member) revokeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.revoke(func(int) bool { return true })
}

// follow tells a follower of the slots that there is work on, from now on, and of those there are.
func (m *Member) follow(f follower) (unfollow func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followers[f] = true
	for _, slot := range slices.Sorted(maps.Keys(m.grants)) {
		f.opened(slot)
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.followers, f)
	}
}

// Children selects the children of all owners that are in the same slot as an owner.
func (m *Member) Children(owner types.UID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	slots := m.parsed
	if slots == nil {
		slots = new(shardtable.New(m.Slots))
	}
	return slots.Labelled(Label, slots.SlotOf(owner))
}

// rename begins a new life under another id, as what was known by the last one is lost. The lock is held.
func (m *Member) rename() {
	if m.lives > 0 { // what was sent for the last life is answered or given up by then
		m.seen[m.id] = &sight{at: m.Clock.Now().Add(m.timing.write - m.timing.lease), gone: true}
	}
	m.lives++
	m.id, m.own = fmt.Sprintf("%s-%d", m.Name, m.lives), nil
}
