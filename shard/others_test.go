package shard

import (
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// watching is a member with a clock that the test moves.
func watching(t *testing.T) (*Member, *clocktesting.FakePassiveClock) {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	m, err := New(Config{Operator: "op", Name: "a", Slots: 2, Lease: lease, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	m.rename()
	return m, clock
}

// leaseOfOther is the Lease of another member, as it writes it at a time of its own clock.
func leaseOfOther(id string, runs time.Duration, at time.Time) *coordinationv1.Lease {
	other := &Member{Config: Config{Operator: "op"}, timing: timing{lease: runs}}
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

// Another member is waited for as long as its own lease runs, whatever this one's is, and whatever the
// clocks show.
func TestOthersAreWaitedForByTheirOwnLeases(t *testing.T) {
	t.Parallel()
	m, clock := watching(t)
	m.shown(leaseOfOther("brief-1", 2*time.Second, clock.Now().Add(time.Minute)))
	m.shown(leaseOfOther("equal-1", lease, clock.Now().Add(-time.Minute)))
	m.shown(leaseOfOther("long-1", time.Minute, clock.Now().Add(-time.Hour)))
	for _, c := range []struct {
		after time.Duration
		dead  []string
	}{
		{0, nil},
		{1900 * time.Millisecond, nil},
		{100 * time.Millisecond, []string{"brief-1"}},
		{lease - 2100*time.Millisecond, []string{"brief-1"}},
		{100 * time.Millisecond, []string{"brief-1", "equal-1"}},
		{time.Minute - lease, []string{"brief-1", "equal-1", "long-1"}},
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

// Somebody edits the Lease of a member: it stays that member's.
func TestWhoseLeaseOneIsStaysAsItIs(t *testing.T) {
	t.Parallel()
	m, clock := watching(t)
	edited := leaseOfOther("b-1", lease, clock.Now())
	edited.Spec.HolderIdentity = new("somebody")
	m.shown(edited)
	own := leaseOfOther(m.id, lease, clock.Now())
	own.Spec.HolderIdentity = nil
	m.shown(own)
	m.mu.Lock()
	view, _ := m.view()
	m.mu.Unlock()
	if !slices.Equal(view.Live, []string{"b-1"}) {
		t.Errorf("live are %q, want b-1", view.Live)
	}
}
