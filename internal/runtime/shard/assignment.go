package shard

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// TableAnnotation on the table's Lease holds the member of each slot.
const TableAnnotation = "operon.dev/shards"

// assignment is the table of slots as the watch last delivered it. Fields are guarded by the member's lock.
type assignment struct {
	*base
	heartbeat *heartbeat
	slots     *slots
	peers     *peers
	// lease holds the table, nil if none exists; parsed is its content, nil if that cannot be read.
	lease  *coordinationv1.Lease
	parsed *shardtable.Table
	// bare is since when no readable table exists; shared means that the last one assigned slots to others.
	bare   time.Time
	shared bool
	// given are the slots that a write gave away, which may or may not have taken effect.
	given map[int]bool
	// warned is the number of slots of the table that was logged to differ from this replica's.
	warned int
}

// learn records the table; one that cannot be read counts as none. Slots that it assigns to others belong to them
// at once. The lock is held.
func (a *assignment) learn(lease *coordinationv1.Lease) {
	if lease == nil {
		a.lose(nil)
		return
	}
	parsed, err := shardtable.Parse(lease.Annotations[TableAnnotation])
	if err != nil {
		a.Log.Error(err, "cannot read the shard assignment; it is recreated after all replicas that use it have stopped",
			"lease", lease.Name, "annotation", TableAnnotation, "within", a.timing.lease)
		a.lose(lease)
		return
	}
	resized := a.parsed != nil && a.parsed.Slots() != parsed.Slots()
	if a.lease == nil || a.lease.ResourceVersion != lease.ResourceVersion {
		clear(a.given)
	}
	a.lease, a.parsed = lease, &parsed
	a.slots.revoke(func(slot int) bool { return resized || parsed.Holders[slot] != a.heartbeat.id })
	for _, holder := range parsed.Holders {
		if holder != "" && holder != a.heartbeat.id {
			a.peers.mentioned(holder)
		}
	}
}

// lose records that no readable table exists. The lock is held.
func (a *assignment) lose(lease *coordinationv1.Lease) {
	if a.parsed != nil {
		a.shared = slices.ContainsFunc(a.parsed.Holders, func(holder string) bool { return holder != "" && holder != a.heartbeat.id })
	}
	a.lease, a.parsed, a.bare = lease, nil, a.Clock.Now()
	clear(a.given)
	a.slots.revoke(func(int) bool { return true })
}

// write writes the table, unless another replica did since it was read. Only the watch delivers the result,
// in the order of the changes: a response may arrive after the table was deleted.
func (a *assignment) write(ctx context.Context, before *coordinationv1.Lease, next shardtable.Table) {
	lease := &coordinationv1.Lease{}
	send := func(ctx context.Context) error { return a.Client.Create(ctx, lease) }
	if before != nil {
		a.give(before, next)
		lease = before.DeepCopy()
		send = func(ctx context.Context) error { return a.Client.Update(ctx, lease) }
	}
	lease.Namespace, lease.Name = a.tableKey().Namespace, a.tableKey().Name
	lease.Labels = map[string]string{GroupLabel: a.Operator}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, TableAnnotation, next.String())
	lease.Spec.RenewTime = new(metav1.NewMicroTime(a.Clock.Now())) // API servers ignore a write that changes nothing
	err := a.brief(ctx, send)
	switch {
	case err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return
	case apierrors.IsAlreadyExists(err):
		if err = a.regain(ctx); err == nil {
			return
		}
	}
	a.Log.Error(err, "cannot write the shard assignment", "lease", lease.Name)
	time.AfterFunc(a.timing.renew, a.wake)
}

// give records the slots that a write gives away. Only the next table shows whether it took effect.
func (a *assignment) give(before *coordinationv1.Lease, next shardtable.Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.parsed == nil || a.lease.ResourceVersion != before.ResourceVersion {
		return // another table exists already, and the write fails
	}
	for slot, holder := range a.parsed.Holders {
		if holder == a.heartbeat.id && next.Holders[slot] != a.heartbeat.id {
			a.given[slot] = true
		}
	}
}

// regain restores the label of the table: without it no replica sees the table.
func (a *assignment) regain(ctx context.Context) error {
	return a.brief(ctx, func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := a.Client.Get(ctx, a.tableKey(), lease); err != nil || lease.Labels[GroupLabel] == a.Operator {
			return err
		}
		if _, ours := lease.Annotations[TableAnnotation]; !ours {
			return fmt.Errorf("there is a Lease of this name without the annotation %s: delete it, if nothing else needs it", TableAnnotation)
		}
		metav1.SetMetaDataLabel(&lease.ObjectMeta, GroupLabel, a.Operator)
		return a.Client.Update(ctx, lease)
	})
}

// tellSlots logs once that the other replicas use another number of slots. The lock is held.
func (a *assignment) tellSlots() {
	if a.parsed == nil || a.parsed.Slots() == a.Slots || a.warned == a.parsed.Slots() {
		return
	}
	a.warned = a.parsed.Slots()
	a.Log.Info("the running replicas use another number of shards; theirs is used until all of them have stopped",
		"theirs", a.parsed.Slots(), "told", a.Slots)
}

// held reports whether the table assigns slots to a member. The lock is held.
func (a *assignment) held(id string) bool { return a.parsed != nil && len(a.parsed.Held(id)) > 0 }

// grantOf returns the fencing token of an object's slot, or nil, and the slot. The lock is held.
func (a *assignment) grantOf(uid types.UID) (*grant, int) {
	if a.parsed == nil {
		return nil, 0
	}
	slot := a.parsed.SlotOf(uid)
	return a.slots.grants[slot], slot
}
