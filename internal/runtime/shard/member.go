package shard

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// Config of a member. All fields except Clock are required.
type Config struct {
	// Client reads and writes Leases, without a cache. It may be set until Start is called.
	Client client.WithWatch
	// Namespace is the namespace of the Leases, and Operator the prefix of their names.
	Namespace, Operator string
	// Name is the unique name of this replica.
	Name string
	// Slots is the number of slots, unless other replicas have set it already.
	Slots int
	// Lease is how long others wait for a heartbeat, in whole seconds.
	Lease time.Duration
	Log   logr.Logger
	// Clock returns the time, for tests. Nil means the system's clock.
	Clock clock.PassiveClock
}

// Member is one of several replicas that share objects.
type Member struct {
	*base
	heartbeat  *heartbeat
	peers      *peers
	assignment *assignment
	slots      *slots
}

// base is what the parts of a member have in common: its configuration, and one lock of all their state, because
// each decision depends on all of it.
type base struct {
	Config
	timing timing
	kick   chan struct{}
	mu     sync.Mutex
}

// wake makes the member decide again.
func (b *base) wake() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// brief sends a request that is given up once its result would be useless.
func (b *base) brief(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, b.timing.write)
	defer cancel()
	return send(ctx)
}

// since returns the time since an event, by a clock that cannot be set.
func (b *base) since(at time.Time) time.Duration { return b.Clock.Now().Sub(at) }

// elapsed returns the time since an event. A sleeping machine stops one of its clocks, and the
// other may be set; the longer of both durations is used.
func (b *base) elapsed(since time.Time) time.Duration {
	now := b.Clock.Now()
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

func (b *base) tableKey() client.ObjectKey {
	return client.ObjectKey{Namespace: b.Namespace, Name: b.Operator + "-shards"}
}

// leaseOf returns the name of the Lease of a member.
func (b *base) leaseOf(id string) string { return b.Operator + "-member-" + id }

// memberOf returns the member that a Lease belongs to, by its name: everything else in it may be edited.
func (b *base) memberOf(lease *coordinationv1.Lease) (id string, ok bool) {
	return strings.CutPrefix(lease.Name, b.leaseOf(""))
}

// Check returns an error if a number of slots or the duration of a lease is not valid.
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
	b := &base{Config: cfg, timing: timing, kick: make(chan struct{}, 1)}
	s := &slots{base: b, grants: map[int]*grant{}, drained: map[int]bool{}, followers: map[follower]bool{}}
	p := &peers{base: b, seen: map[string]*sight{}}
	h := &heartbeat{base: b, slots: s, peers: p, renewal: make(chan struct{}, 1)}
	a := &assignment{base: b, heartbeat: h, slots: s, peers: p, bare: cfg.Clock.Now(), given: map[int]bool{}}
	return &Member{base: b, heartbeat: h, peers: p, assignment: a, slots: s}, nil
}

// NeedLeaderElection makes the manager run this in every replica.
func (m *Member) NeedLeaderElection() bool { return false }

// Start takes part until ctx ends, and then gives all slots away.
func (m *Member) Start(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	synced := m.watch(life)
	select {
	case <-ctx.Done():
		return nil
	case <-synced:
	}
	m.heartbeat.join(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { m.heartbeat.renewing(life) })
	m.loop(ctx, life)
	m.leave(life)
	end()
	renewing.Wait()
	return nil
}

// loop decides repeatedly, until the member has to stop.
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

// step decides once and acts on the decision. It returns when to step again if nothing
// happens before.
func (m *Member) step(ctx context.Context) time.Duration {
	m.mu.Lock()
	if !m.heartbeat.isValid() {
		m.slots.interrupt()
		m.mu.Unlock()
		return m.timing.renew
	}
	view, next := m.view()
	d := shardtable.Decide(view)
	work := slices.DeleteFunc(d.Work, func(slot int) bool { return m.assignment.given[slot] })
	if len(work) < len(d.Work) && d.Write == nil {
		d.Write = m.assignment.parsed // over the version with which they were given away: if it is accepted, they were not
	}
	m.slots.work(work)
	m.slots.drain(ctx, d.Drain)
	m.assignment.tellSlots()
	lease := m.assignment.lease
	m.mu.Unlock()
	if !m.peers.expel(ctx, d.Expel, m.assignment.held) {
		return m.timing.renew
	}
	if d.Write != nil {
		m.assignment.write(ctx, lease, *d.Write)
	}
	return next
}

// view returns what is known, and after how long it changes without an event. The lock is held.
func (m *Member) view() (shardtable.View, time.Duration) {
	view := shardtable.View{Me: m.heartbeat.id, Leaving: m.heartbeat.leaving, Slots: m.Slots, Table: m.assignment.parsed}
	worked, next := m.peers.sort(&view)
	worked = worked || m.assignment.shared // a member that has just begun may not have announced it yet
	next = min(next, m.timing.valid-m.elapsed(m.heartbeat.renewed))
	if m.assignment.parsed == nil && worked && m.since(m.assignment.bare) < m.timing.lease {
		view.Bare = true
		next = min(next, m.timing.lease-m.since(m.assignment.bare))
	}
	for slot := range m.slots.drained {
		view.Idle = append(view.Idle, slot)
	}
	if m.assignment.parsed != nil && m.heartbeat.leaving {
		for _, slot := range m.assignment.parsed.Held(m.heartbeat.id) {
			if m.slots.grants[slot] == nil && !m.slots.drained[slot] {
				view.Idle = append(view.Idle, slot) // never begun
			}
		}
	}
	return view, next
}

// leave gives away all slots, and takes no longer than others would wait anyway.
func (m *Member) leave(life context.Context) {
	patient, cancel := context.WithTimeout(life, m.timing.lease)
	defer cancel()
	m.mu.Lock()
	m.heartbeat.leaving = true
	m.mu.Unlock()
	m.heartbeat.renew(patient) // announces that
	for patient.Err() == nil && m.holds() {
		again := m.step(patient)
		select {
		case <-patient.Done():
		case <-m.kick:
		case <-time.After(again):
		}
	}
	m.slots.revokeAll()
	m.heartbeat.remove(patient)
}

// holds reports whether anything is left to give away.
func (m *Member) holds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.slots.grants) > 0 || m.assignment.held(m.heartbeat.id)
}

// valid reports whether no other replica can have taken our slots, nor can while a write is in flight.
func (m *Member) valid() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heartbeat.isValid()
}

// Children returns a selector of the children of all owners that are in the same slot as an owner.
func (m *Member) Children(owner types.UID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	slots := m.assignment.parsed
	if slots == nil {
		slots = new(shardtable.New(m.Slots))
	}
	return slots.Labelled(Label, slots.SlotOf(owner))
}
