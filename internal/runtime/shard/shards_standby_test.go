package shard_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// If there are more replicas than shards, one stands by without objects, and takes over from a replica that stops.
func TestAReplicaStandsBy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, stop := w.Share(boxtest.ComposeFunc(boxtest.Copies), 1)
	held := w.Spread(1)
	two, _ := w.Share(boxtest.ComposeFunc(boxtest.Copies), 1)
	w.Eventually("the other replica to announce itself", func(ctx context.Context) error {
		all, err := w.Leases(ctx)
		if err == nil && len(all) != 3 { // two members and the table
			err = fmt.Errorf("there are %d Leases", len(all))
		}
		return err
	})
	b := w.Box("one", map[string]string{"made": "first"})
	w.IsReady(b)
	if wrote := two.All(true); len(childWrites(two)) > 0 || w.Spread(1).String() != held.String() {
		t.Errorf("the replica that stands by wrote %q", wrote)
	}
	stop()
	w.Eventually("the other replica to hold everything", func(ctx context.Context) error {
		now, err := w.Holders(ctx)
		if err == nil && (now.String() == held.String() || now.Holders[0] == "") {
			err = fmt.Errorf("held are %v", now.Holders)
		}
		return err
	})
	w.Change(b, func() { b.Spec.Data["made"] = "second" })
	w.IsReady(b)
	if len(childWrites(two)) == 0 {
		t.Error("it did not take over")
	}
}
