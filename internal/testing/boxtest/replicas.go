package boxtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/shardtable"
	"github.com/operon-framework/operon/internal/runtime/shard"
)

const (
	// ShortLease is the shortest lease that replicas accept, for tests that wait until one expires.
	ShortLease = 2 * time.Second
	// LongLease does not expire during a test: a shard only changes its owner if it was released.
	LongLease = 10 * time.Minute
	// Workers is the number of objects that a replica process reconciles concurrently.
	Workers = 8
)

// TableName is the name of the Lease with the table of shards.
const TableName = "box-operator-shards"

// Share runs a replica whose lease does not expire during the test.
func (w *Fixture) Share(composer operon.Composer[*Box], slots int) (*Traffic, func()) {
	w.Helper()
	return w.RunWith(w.Config, operon.Config{Namespace: w.Namespace, Shards: slots, ShardLease: LongLease}, operon.API(AddToScheme), operon.Manage(composer))
}

// Holders returns the holders of the slots according to the table.
func (w *Fixture) Holders(ctx context.Context) (shardtable.Table, error) {
	lease := &coordinationv1.Lease{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: TableName}, lease); err != nil {
		return shardtable.Table{}, err
	}
	return shardtable.Parse(lease.Annotations[shard.TableAnnotation])
}

// Spread waits until this number of replicas hold slots, and all slots are held.
func (w *Fixture) Spread(replicas int) shardtable.Table {
	w.Helper()
	return w.shared(replicas, func(shardtable.Table) int { return 1 })
}

// Even waits until each of the replicas has its share of the slots, so no slot changes its holder any more.
func (w *Fixture) Even(replicas int) shardtable.Table {
	w.Helper()
	return w.shared(replicas, func(now shardtable.Table) int { return now.Slots() / replicas })
}

// shared waits until this number of replicas hold all slots, and each of them holds at least the minimum.
func (w *Fixture) shared(replicas int, least func(shardtable.Table) int) (now shardtable.Table) {
	w.Helper()
	w.Eventually(fmt.Sprintf("%d replicas to hold everything", replicas), func(ctx context.Context) (err error) {
		if now, err = w.Holders(ctx); err != nil {
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

// Boxes makes Boxes.
func (w *Fixture) Boxes(n int) []*Box {
	w.Helper()
	var all []*Box
	for i := range n {
		all = append(all, w.Box(fmt.Sprintf("box-%d", i), map[string]string{"made": "first"}))
	}
	return all
}

// EditLeases edits the leases of all replicas, and the table.
func (w *Fixture) EditLeases(edit func(*coordinationv1.Lease)) {
	w.Helper()
	all, err := w.Leases(w.Context())
	w.Must(err)
	for i := range all {
		before := all[i].DeepCopy()
		edit(&all[i])
		// A replica that was considered dead in the meantime has no lease.
		w.Must(client.IgnoreNotFound(w.Client.Patch(w.Context(), &all[i], client.MergeFrom(before), client.FieldOwner("intruder"))))
	}
}

// Leases returns the leases of all replicas, and the table.
func (w *Fixture) Leases(ctx context.Context) ([]coordinationv1.Lease, error) {
	var all coordinationv1.LeaseList
	err := w.Client.List(ctx, &all, client.InNamespace(w.Namespace))
	return slices.DeleteFunc(all.Items, func(lease coordinationv1.Lease) bool {
		return lease.Name != TableName && !strings.HasPrefix(lease.Name, "box-operator-member-")
	}), err
}
