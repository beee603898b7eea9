package shard

import (
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// watching returns a member with a clock that the test controls.
func watching(t *testing.T) (*Member, *clocktesting.FakePassiveClock) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	m, err := New(Config{Operator: "op", Name: "a", Slots: 2, Lease: lease, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	m.heartbeat.rename()
	return m, clock
}

// leaseOfOther returns the Lease of another member, as it writes it at a time of its own clock.
func leaseOfOther(id string, runs time.Duration, at time.Time) *coordinationv1.Lease {
	other := &base{Config: Config{Operator: "op"}, timing: timing{lease: runs}}
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: other.leaseOf(id), ResourceVersion: id + at.String()}}
	other.fill(l, at)
	return l
}

func (m *Member) dead() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	view, _ := m.view()
	return slices.Sorted(slices.Values(view.Dead))
}

// A member waits for another one for the duration of that one's own lease, whatever the duration of its own lease and
// whatever the clocks show.
func TestOthersAreWaitedForByTheirOwnLeases(t *testing.T) {
	t.Parallel()
	m, clock := watching(t)
	m.shown(leaseOfOther("brief-1", 2*time.Second, clock.Now().Add(time.Minute)))
	m.shown(leaseOfOther("equal-1", lease, clock.Now().Add(-time.Minute)))
	m.shown(leaseOfOther("long-1", 10*lease, clock.Now().Add(-time.Hour)))
	for _, c := range []struct {
		after time.Duration
		dead  []string
	}{
		{0, nil},
		{1900 * time.Millisecond, nil},
		{100 * time.Millisecond, []string{"brief-1"}},
		{lease - 2100*time.Millisecond, []string{"brief-1"}},
		{100 * time.Millisecond, []string{"brief-1", "equal-1"}},
		{9 * lease, []string{"brief-1", "equal-1", "long-1"}},
	} {
		clock.SetTime(clock.Now().Add(c.after))
		if dead := m.dead(); !slices.Equal(dead, c.dead) {
			t.Errorf("after %s more %q are taken for dead, want %q", c.after, dead, c.dead)
		}
	}
	m.shown(leaseOfOther("brief-1", 2*time.Second, clock.Now().Add(-time.Minute)))
	if dead := m.dead(); slices.Contains(dead, "brief-1") {
		t.Error("a member is taken for dead that has just given a sign of life")
	}
}

// A Lease of a member that a user edits stays that member's.
func TestWhoseLeaseOneIsStaysAsItIs(t *testing.T) {
	t.Parallel()
	m, clock := watching(t)
	edited := leaseOfOther("b-1", lease, clock.Now())
	edited.Spec.HolderIdentity = new("somebody")
	m.shown(edited)
	own := leaseOfOther(m.heartbeat.id, lease, clock.Now())
	own.Spec.HolderIdentity = nil
	m.shown(own)
	m.mu.Lock()
	view, _ := m.view()
	m.mu.Unlock()
	if !slices.Equal(view.Live, []string{"b-1"}) {
		t.Errorf("live are %q, want b-1", view.Live)
	}
}

// A table that a user made unreadable is created again, but not before the members that worked by it have noticed.
func TestATableThatCannotBeRead(t *testing.T) {
	t.Parallel()
	m, clock := watching(t)
	decide := func() shardtable.Decision {
		m.mu.Lock()
		defer m.mu.Unlock()
		worker := leaseOfOther("b-1", lease, clock.Now()) // it renews all the time
		worker.Annotations = map[string]string{WorksAnnotation: "true"}
		m.peers.seen["b-1"] = &sight{lease: worker, at: clock.Now()}
		view, _ := m.view()
		return shardtable.Decide(view)
	}
	shown := func(revision, text string) {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.tableKey().Name, ResourceVersion: revision}}
		l.Annotations = map[string]string{TableAnnotation: text}
		m.shown(l)
	}
	shown("1", "0 "+m.heartbeat.id+"\n1 b-1\n")
	if d := decide(); !slices.Equal(d.Work, []int{0}) || d.Write != nil {
		t.Errorf("by a table it does %+v", d)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	shown("2", "0 nonsense\n2 -\n")
	for _, after := range []time.Duration{0, lease - time.Millisecond} {
		clock.SetTime(clock.Now().Add(after))
		if d := decide(); len(d.Work) > 0 || d.Write != nil {
			t.Errorf("after %s without one it does %+v", after, d)
		}
	}
	clock.SetTime(clock.Now().Add(time.Millisecond))
	if d := decide(); d.Write == nil || d.Write.Slots() != 2 {
		t.Errorf("when all have noticed it does %+v", d)
	}
}
