package shard

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GroupLabel on the Leases of an operator's members and on its table holds the operator's name.
const GroupLabel = "operon.dev/shards"

// WorksAnnotation is on the Lease of a member that has worked by a table.
const WorksAnnotation = "operon.dev/shards-worked"

// LeavesAnnotation is on the Lease of a member that gives everything away, and gets nothing.
const LeavesAnnotation = "operon.dev/shards-left"

// join announces the member, however long that takes. Each attempt is under another id: one that was
// not answered may have been heard.
func (m *Member) join(ctx context.Context) {
	for ctx.Err() == nil {
		m.mu.Lock()
		if m.leaving {
			m.mu.Unlock()
			return // which waits for this
		}
		m.rename()
		id := m.id
		m.mu.Unlock()
		sent := m.Clock.Now()
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.leaseOf(id)}}
		lease.Spec.AcquireTime = new(metav1.NewMicroTime(sent))
		m.fill(lease, sent)
		err := m.brief(ctx, func(ctx context.Context) error { return m.Client.Create(ctx, lease) })
		if err == nil {
			m.renewedAt(lease, sent)
			return
		}
		m.Log.Error(err, "cannot announce this replica: it works on nothing until it can", "lease", lease.Name)
		wait(ctx, m.timing.renew)
	}
}

// fill writes into the member's lease what others go by. A person may have edited it.
func (m *Member) fill(lease *coordinationv1.Lease, sent time.Time) {
	metav1.SetMetaDataLabel(&lease.ObjectMeta, GroupLabel, m.Operator)
	id, _ := m.memberOf(lease)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &id, new(int32(m.timing.lease/time.Second))
	lease.Spec.RenewTime = new(metav1.NewMicroTime(sent)) // for people: nobody compares it
}

// brief sends a request that is given up before it is of no use any more.
func (m *Member) brief(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.timing.write)
	defer cancel()
	return send(ctx)
}

func (m *Member) renewedAt(lease *coordinationv1.Lease, sent time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own, m.renewed = lease, sent
	m.wake()
}

// renewing renews the member's lease until it ends. One that others deleted is followed by
// another life: whatever was held is theirs.
func (m *Member) renewing(life context.Context) {
	for life.Err() == nil {
		wait(life, m.timing.renew)
		m.renew(life)
	}
}

func (m *Member) renew(ctx context.Context) {
	select {
	case m.renewal <- struct{}{}:
		defer func() { <-m.renewal }()
	case <-ctx.Done():
		return
	}
	m.mu.Lock()
	if m.own == nil {
		m.mu.Unlock()
		return // it never joined
	}
	lease := m.own.DeepCopy()
	works, leaves := len(m.grants) > 0, m.leaving
	m.mu.Unlock()
	sent, err := m.update(ctx, lease, works, leaves)
	if apierrors.IsConflict(err) { // our last renewal came late, or a person edited it
		if err = m.reread(ctx, lease); err == nil {
			sent, err = m.update(ctx, lease, works, leaves)
		}
	}
	switch {
	case err == nil:
		m.renewedAt(lease, sent)
	case apierrors.IsNotFound(err) || errors.Is(err, errOther):
		m.expelled(ctx)
	case ctx.Err() == nil:
		m.Log.Error(err, "cannot renew this replica's lease: it stops writing until it can", "lease", lease.Name)
	}
}

// update writes the member's lease, and returns when it began to.
func (m *Member) update(ctx context.Context, lease *coordinationv1.Lease, works, leaves bool) (sent time.Time, _ error) {
	sent = m.Clock.Now()
	m.fill(lease, sent)
	if works {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, WorksAnnotation, "true")
	}
	if leaves {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, LeavesAnnotation, "true")
	}
	return sent, m.brief(ctx, func(ctx context.Context) error { return m.Client.Update(ctx, lease) })
}

var errOther = errors.New("the lease is another one of the same name")

// reread reads the member's lease, which is to be the same one.
func (m *Member) reread(ctx context.Context, lease *coordinationv1.Lease) error {
	uid := lease.UID
	err := m.brief(ctx, func(ctx context.Context) error { return m.Client.Get(ctx, client.ObjectKeyFromObject(lease), lease) })
	if err == nil && lease.UID != uid {
		return errOther
	}
	return err
}

// expelled stops all work, for others may have begun with it, and begins anew.
func (m *Member) expelled(ctx context.Context) {
	m.mu.Lock()
	m.own = nil
	m.revoke(func(int) bool { return true })
	leaving := m.leaving
	m.mu.Unlock()
	if leaving {
		return
	}
	m.Log.Info("others took this replica for dead: it stops working on its objects and joins anew")
	m.join(ctx)
}

// remove deletes the member's lease, as nobody has to wait for it.
func (m *Member) remove(ctx context.Context) {
	m.mu.Lock()
	lease := m.own
	m.mu.Unlock()
	if lease == nil {
		return
	}
	if err := m.Client.Delete(ctx, lease, client.Preconditions{UID: &lease.UID}); client.IgnoreNotFound(err) != nil {
		m.Log.Error(err, "cannot remove this replica's lease: it runs out", "lease", lease.Name)
	}
}
