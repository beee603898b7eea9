package shard

import (
	"context"
	"errors"
	"fmt"
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

// LeavesAnnotation is on the Lease of a member that gives all slots away, and receives none.
const LeavesAnnotation = "operon.dev/shards-left"

// heartbeat is the Lease of this replica and its renewal. Fields are guarded by the member's lock.
type heartbeat struct {
	*base
	slots *slots
	peers *peers
	// renewal holds an element while the lease is written.
	renewal chan struct{}
	// id is the replica's name and the number of its lives: it changes with each rejoin.
	id    string
	lives int
	own   *coordinationv1.Lease
	// renewed is when the last renewal that the API server accepted was sent.
	renewed time.Time
	leaving bool
}

// join announces the member, however long that takes. Each attempt uses another id: an unanswered
// attempt may have taken effect.
func (h *heartbeat) join(ctx context.Context) {
	for ctx.Err() == nil {
		h.mu.Lock()
		if h.leaving {
			h.mu.Unlock()
			return // which waits for this
		}
		h.rename()
		id := h.id
		h.mu.Unlock()
		sent := h.Clock.Now()
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: h.leaseOf(id)}}
		lease.Spec.AcquireTime = new(metav1.NewMicroTime(sent))
		h.fill(lease, sent)
		err := h.brief(ctx, func(ctx context.Context) error { return h.Client.Create(ctx, lease) })
		if err == nil {
			h.renewedAt(lease, sent)
			return
		}
		h.Log.Error(err, "cannot create the lease of this replica; it reconciles nothing until it can", "lease", lease.Name)
		wait(ctx, h.timing.renew)
	}
}

// rename begins a new life under another id, because everything known by the last one is lost. The lock is held.
func (h *heartbeat) rename() {
	if h.lives > 0 { // all requests of the last life are answered or given up by then
		h.peers.seen[h.id] = &sight{at: h.Clock.Now().Add(h.timing.write - h.timing.lease), gone: true}
	}
	h.lives++
	h.id, h.own = fmt.Sprintf("%s-%d", h.Name, h.lives), nil
}

// fill writes into the member's lease the data that others depend on. A user may have edited it.
func (b *base) fill(lease *coordinationv1.Lease, sent time.Time) {
	metav1.SetMetaDataLabel(&lease.ObjectMeta, GroupLabel, b.Operator)
	id, _ := b.memberOf(lease)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &id, new(int32(b.timing.lease/time.Second))
	lease.Spec.RenewTime = new(metav1.NewMicroTime(sent)) // for people: it is never compared
}

func (h *heartbeat) renewedAt(lease *coordinationv1.Lease, sent time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own, h.renewed = lease, sent
	h.wake()
}

// renewing renews the member's lease until it ends. If others delete the lease, the member begins
// another life: they have its slots.
func (h *heartbeat) renewing(life context.Context) {
	for life.Err() == nil {
		wait(life, h.timing.renew)
		h.renew(life)
	}
}

func (h *heartbeat) renew(ctx context.Context) {
	select {
	case h.renewal <- struct{}{}:
		defer func() { <-h.renewal }()
	case <-ctx.Done():
		return
	}
	h.mu.Lock()
	if h.own == nil {
		h.mu.Unlock()
		return // it never joined
	}
	lease := h.own.DeepCopy()
	works, leaves := len(h.slots.grants) > 0, h.leaving
	h.mu.Unlock()
	sent, err := h.update(ctx, lease, works, leaves)
	if apierrors.IsConflict(err) { // our last renewal arrived late, or a user edited it
		if err = h.reread(ctx, lease); err == nil {
			sent, err = h.update(ctx, lease, works, leaves)
		}
	}
	switch {
	case err == nil:
		h.renewedAt(lease, sent)
	case apierrors.IsNotFound(err) || errors.Is(err, errOther):
		h.expelled(ctx)
	case ctx.Err() == nil:
		h.Log.Error(err, "cannot renew the lease of this replica; it stops writing until it can", "lease", lease.Name)
	}
}

// update writes the member's lease, and returns when the write began.
func (h *heartbeat) update(ctx context.Context, lease *coordinationv1.Lease, works, leaves bool) (sent time.Time, _ error) {
	sent = h.Clock.Now()
	h.fill(lease, sent)
	if works {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, WorksAnnotation, "true")
	}
	if leaves {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, LeavesAnnotation, "true")
	}
	return sent, h.brief(ctx, func(ctx context.Context) error { return h.Client.Update(ctx, lease) })
}

var errOther = errors.New("the lease was replaced by another one of the same name")

// reread reads the member's lease, which has to be the same one.
func (h *heartbeat) reread(ctx context.Context, lease *coordinationv1.Lease) error {
	uid := lease.UID
	err := h.brief(ctx, func(ctx context.Context) error { return h.Client.Get(ctx, client.ObjectKeyFromObject(lease), lease) })
	if err == nil && lease.UID != uid {
		return errOther
	}
	return err
}

// expelled stops all work, because others may have begun with it, and joins again.
func (h *heartbeat) expelled(ctx context.Context) {
	h.mu.Lock()
	h.own = nil
	h.slots.revoke(func(int) bool { return true })
	leaving := h.leaving
	h.mu.Unlock()
	if leaving {
		return
	}
	h.Log.Info("lost the shard lease; releasing objects and rejoining")
	h.join(ctx)
}

// remove deletes the member's lease, because no member has to wait for it.
func (h *heartbeat) remove(ctx context.Context) {
	h.mu.Lock()
	lease := h.own
	h.mu.Unlock()
	if lease == nil {
		return
	}
	if err := h.Client.Delete(ctx, lease, client.Preconditions{UID: &lease.UID}); client.IgnoreNotFound(err) != nil {
		h.Log.Error(err, "cannot delete the lease of this replica; it will expire", "lease", lease.Name)
	}
}

// isValid reports whether no other replica can have taken the slots, nor can while a write is in flight. The lock is held.
func (h *heartbeat) isValid() bool { return h.own != nil && h.elapsed(h.renewed) < h.timing.valid }
