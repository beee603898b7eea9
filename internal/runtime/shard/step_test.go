package shard

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// updated is a client that records updates, and returns no useful response.
type updated struct {
	client.WithWatch
	tables []string
	times  map[metav1.MicroTime]bool
}

// Update implements client.Client.
func (u *updated) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	u.tables = append(u.tables, object.GetAnnotations()[TableAnnotation])
	if lease, ok := object.(*coordinationv1.Lease); ok && lease.Spec.RenewTime != nil {
		u.times[*lease.Spec.RenewTime] = true
	}
	return errLossy
}

// A member gave a slot away by a write that was not answered, and would have it now, because the other member has ended. It
// does not work on the slot before a write over the same version has shown whether the slot is still its own.
func TestWhatMayBeGivenAwayIsNotWorkedOn(t *testing.T) {
	t.Parallel()
	m := holding(t)
	took := &updated{times: map[metav1.MicroTime]bool{}}
	m.Client = took
	tableNow := func(revision string) *coordinationv1.Lease {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.tableKey().Name, ResourceVersion: revision}}
		l.Annotations = map[string]string{TableAnnotation: shardtable.Table{Holders: []string{m.heartbeat.id, m.heartbeat.id}}.String()}
		return l
	}
	m.shown(tableNow("1"))
	m.slots.revokeAll()
	given := shardtable.Table{Holders: []string{"b-1", m.heartbeat.id}}
	m.assignment.write(t.Context(), m.assignment.lease, given)
	m.shown(tableNow("1")) // read again after the watch broke: it says nothing about the write
	m.step(t.Context())
	if m.slots.grants[0] != nil || m.slots.grants[1] == nil {
		t.Errorf("worked on are %v, want slot 1 only", m.slots.grants)
	}
	if len(took.tables) != 2 || took.tables[1] != m.assignment.parsed.String() {
		t.Errorf("written are %q, want the table that gives it away and then the one as it was", took.tables)
	}
	if len(took.times) != 2 {
		t.Errorf("a table that is written as it was is not changed, and API servers make no version of it")
	}
	m.shown(tableNow("2")) // our second write was accepted, and so the first one was not
	m.step(t.Context())
	if m.slots.grants[0] == nil {
		t.Error("nobody works on the slot that stayed ours")
	}
}

// A table that is deleted while others hold slots by it, and had no time to announce that they work, is created
// again when they have noticed.
func TestATableThatWasDeleted(t *testing.T) {
	t.Parallel()
	for other, waits := range map[string]bool{"b-1": true, "-": false} {
		m, clock := watching(t)
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.tableKey().Name, ResourceVersion: "1"}}
		l.Annotations = map[string]string{TableAnnotation: "0 " + m.heartbeat.id + "\n1 " + other + "\n"}
		m.shown(l)
		m.removed(l)
		for _, after := range []time.Duration{0, lease - time.Millisecond, time.Millisecond} {
			clock.SetTime(clock.Now().Add(after))
			m.mu.Lock()
			view, _ := m.view()
			m.mu.Unlock()
			if want := waits && after != time.Millisecond; (shardtable.Decide(view).Write == nil) != want {
				t.Errorf("with a slot of %q, %s later: it waits is %t, want %t", other, after, !want, want)
			}
		}
	}
}
