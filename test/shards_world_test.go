package operon_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/shardtable"
	"github.com/operon-framework/operon/internal/runtime/shard"
)

// share runs a replica whose lease does not expire during the test.
func (w *world) share(composer operon.Composer[*Box], slots int) (*traffic, func()) {
	w.Helper()
	return w.runWith(w.Config, operon.Config{Namespace: w.Namespace, Shards: slots, ShardLease: longLease}, operon.API(addBox), operon.Manage(composer))
}

// holders returns the holders of the slots according to the table.
func (w *world) holders(ctx context.Context) (shardtable.Table, error) {
	lease := &coordinationv1.Lease{}
	if err := w.client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: tableName}, lease); err != nil {
		return shardtable.Table{}, err
	}
	return shardtable.Parse(lease.Annotations[shard.TableAnnotation])
}

// spread waits until this number of replicas hold slots, and all slots are held.
func (w *world) spread(replicas int) shardtable.Table {
	w.Helper()
	return w.shared(replicas, func(shardtable.Table) int { return 1 })
}

// even waits until each of the replicas has its share of the slots, so no slot changes its holder any more.
func (w *world) even(replicas int) shardtable.Table {
	w.Helper()
	return w.shared(replicas, func(now shardtable.Table) int { return now.Slots() / replicas })
}

// shared waits until this number of replicas hold all slots, and each of them holds at least the minimum.
func (w *world) shared(replicas int, least func(shardtable.Table) int) (now shardtable.Table) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d replicas to hold everything", replicas), func(ctx context.Context) (err error) {
		if now, err = w.holders(ctx); err != nil {
			return err
		}
		held := map[string]int{}
		for _, holder := range now.Holders {
			held[holder]++
		}
		if held[""] > 0 || len(held) != replicas || slices.Min(slices.Collect(maps.Values(held))) < least(now) {
			return fmt.Errorf("held are %v", held)
		}
		return nil
	})
	return now
}

// boxes makes Boxes.
func (w *world) boxes(n int) []*Box {
	w.Helper()
	var all []*Box
	for i := range n {
		all = append(all, w.box(fmt.Sprintf("box-%d", i), map[string]string{"made": "first"}))
	}
	return all
}

// editLeases edits the leases of all replicas, and the table.
func (w *world) editLeases(edit func(*coordinationv1.Lease)) {
	w.Helper()
	all, err := w.leases(w.Context())
	w.must(err)
	for i := range all {
		before := all[i].DeepCopy()
		edit(&all[i])
		// A replica that was considered dead in the meantime has no lease.
		w.must(client.IgnoreNotFound(w.client.Patch(w.Context(), &all[i], client.MergeFrom(before), client.FieldOwner("intruder"))))
	}
}

// leases returns the leases of all replicas, and the table.
func (w *world) leases(ctx context.Context) ([]coordinationv1.Lease, error) {
	var all coordinationv1.LeaseList
	err := w.client.List(ctx, &all, client.InNamespace(w.Namespace))
	return slices.DeleteFunc(all.Items, func(lease coordinationv1.Lease) bool {
		return lease.Name != tableName && !strings.HasPrefix(lease.Name, "box-operator-member-")
	}), err
}
