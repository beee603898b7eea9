package shard

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// step decides once and does what that says. It returns after how long to look again, if nothing
// happens meanwhile.
func (m *Member) step(ctx context.Context) time.Duration {
	m.mu.Lock()
	if !m.isValid() {
		for _, g := range m.grants {
			g.interrupt() // what is done outside of the API server, no write's refusal would end
		}
	}
	if !m.isValid() {
		m.mu.Unlock()
		return m.timing.renew
	}
	view, next := m.view()
	d := shardtable.Decide(view)
	work := slices.DeleteFunc(d.Work, func(slot int) bool { return m.given[slot] })
	if len(work) < len(d.Work) && d.Write == nil {
		d.Write = m.parsed // over the version by which they were given away: if it is taken, they were not
	}
	m.work(work)
	m.drain(ctx, d.Drain)
	m.tellSlots()
	lease := m.lease
	m.mu.Unlock()
	if !m.expel(ctx, d.Expel) {
		return m.timing.renew
	}
	if d.Write != nil {
		m.write(ctx, lease, *d.Write)
	}
	return next
}

// view is what is known, and after how long it will be something else by itself. The lock is held.
func (m *Member) view() (shardtable.View, time.Duration) {
	view := shardtable.View{Me: m.id, Leaving: m.leaving, Slots: m.Slots, Table: m.parsed}
	next := m.timing.valid - m.elapsed(m.renewed)
	worked := m.shared // who has just begun may not have said so yet
	for id, s := range m.seen {
		left := s.term(m.timing.lease) - m.since(s.at)
		switch {
		case left <= 0:
			view.Dead = append(view.Dead, id)
			continue
		case !s.gone && s.lease.Annotations[LeavesAnnotation] == "":
			view.Live = append(view.Live, id)
		}
		worked = worked || s.lease != nil && s.lease.Annotations[WorksAnnotation] != ""
		next = min(next, left)
	}
	if m.parsed == nil && worked && m.since(m.bare) < m.timing.lease {
		view.Bare = true
		next = min(next, m.timing.lease-m.since(m.bare))
	}
	for slot := range m.drained {
		view.Idle = append(view.Idle, slot)
	}
	if m.parsed != nil && m.leaving {
		for _, slot := range m.parsed.Held(m.id) {
			if m.grants[slot] == nil && !m.drained[slot] {
				view.Idle = append(view.Idle, slot) // never begun
			}
		}
	}
	return view, next
}

// term is how long a member lives after a sign of life.
func (s *sight) term(own time.Duration) time.Duration {
	if s.lease == nil || s.lease.Spec.LeaseDurationSeconds == nil {
		return own
	}
	return max(time.Duration(*s.lease.Spec.LeaseDurationSeconds)*time.Second, time.Second)
}

// expel deletes the leases of the dead. Where one is not dead after all, as it renewed its lease meanwhile,
// it returns false.
func (m *Member) expel(ctx context.Context, dead []string) bool {
	for _, id := range dead {
		m.mu.Lock()
		s := *m.seen[id]
		m.mu.Unlock()
		if !s.gone && !m.delete(ctx, s.lease) {
			return false
		}
		m.buried(id, s.lease)
	}
	return true
}

// buried takes note that a member's lease is no more. What is known of it ends when it is not in the
// table any more either.
func (m *Member) buried(id string, lease *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.seen[id]
	if s == nil || s.lease != lease {
		return
	}
	s.gone = true
	if m.parsed == nil || len(m.parsed.Held(id)) == 0 {
		delete(m.seen, id)
	}
}

func (m *Member) delete(ctx context.Context, lease *coordinationv1.Lease) bool {
	err := m.brief(ctx, func(ctx context.Context) error {
		return m.Client.Delete(ctx, lease, client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
	})
	if client.IgnoreNotFound(err) == nil {
		m.Log.Info("a replica gives no sign of life: its objects are taken over", "lease", lease.Name)
		return true
	}
	if !apierrors.IsConflict(err) {
		m.Log.Error(err, "cannot delete the lease of a replica that gives no sign of life", "lease", lease.Name)
	}
	return false
}

// write writes the table, unless somebody else did since it was read. What became of it the watch shows,
// in the order in which it happened: an answer may come after the table's end.
func (m *Member) write(ctx context.Context, before *coordinationv1.Lease, next shardtable.Table) {
	lease := &coordinationv1.Lease{}
	send := func(ctx context.Context) error { return m.Client.Create(ctx, lease) }
	if before != nil {
		m.give(before, next)
		lease = before.DeepCopy()
		send = func(ctx context.Context) error { return m.Client.Update(ctx, lease) }
	}
	lease.Namespace, lease.Name = m.tableKey().Namespace, m.tableKey().Name
	lease.Labels = map[string]string{GroupLabel: m.Operator}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, TableAnnotation, next.String())
	lease.Spec.RenewTime = new(metav1.NewMicroTime(m.Clock.Now())) // to API servers, a write that changes nothing is none
	err := m.brief(ctx, send)
	switch {
	case err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return
	case apierrors.IsAlreadyExists(err):
		if err = m.regain(ctx); err == nil {
			return
		}
	}
	m.Log.Error(err, "cannot write which replica works on what", "lease", lease.Name)
	time.AfterFunc(m.timing.renew, m.wake)
}

// give takes note of the slots that a write gives away. Whether it took effect, only the next table tells.
func (m *Member) give(before *coordinationv1.Lease, next shardtable.Table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parsed == nil || m.lease.ResourceVersion != before.ResourceVersion {
		return // there is another table already, and the write comes to nothing
	}
	for slot, holder := range m.parsed.Holders {
		if holder == m.id && next.Holders[slot] != m.id {
			m.given[slot] = true
		}
	}
}

// regain gives the table its label back, which somebody took off, and without which no replica sees it.
func (m *Member) regain(ctx context.Context) error {
	return m.brief(ctx, func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := m.Client.Get(ctx, m.tableKey(), lease); err != nil || lease.Labels[GroupLabel] == m.Operator {
			return err
		}
		if _, ours := lease.Annotations[TableAnnotation]; !ours {
			return fmt.Errorf("there is a Lease of this name without the annotation %s: delete it, if nothing else needs it", TableAnnotation)
		}
		metav1.SetMetaDataLabel(&lease.ObjectMeta, GroupLabel, m.Operator)
		return m.Client.Update(ctx, lease)
	})
}

// tellSlots says once that others cut the objects otherwise. The lock is held.
func (m *Member) tellSlots() {
	if m.parsed == nil || m.parsed.Slots() == m.Slots || m.told == m.parsed.Slots() {
		return
	}
	m.told = m.parsed.Slots()
	m.Log.Info("the replicas share another number of shards than this one was told: theirs stands until all of them have been stopped",
		"theirs", m.parsed.Slots(), "told", m.Slots)
}
