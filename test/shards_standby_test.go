package operon_test

import (
	"context"
	"fmt"
	"testing"
)

// If there are more replicas than shards, one stands by without objects, and takes over from a replica that stops.
func TestAReplicaStandsBy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.share(compose(copies), 1)
	held := w.spread(1)
	two, _ := w.share(compose(copies), 1)
	w.eventually("the other replica to announce itself", func(ctx context.Context) error {
		all, err := w.leases(ctx)
		if err == nil && len(all) != 3 { // two members and the table
			err = fmt.Errorf("there are %d Leases", len(all))
		}
		return err
	})
	b := w.box("one", map[string]string{"made": "first"})
	w.isReady(b)
	if wrote := two.all(true); len(childWrites(two)) > 0 || w.spread(1).String() != held.String() {
		t.Errorf("the replica that stands by wrote %q", wrote)
	}
	stop()
	w.eventually("the other replica to hold everything", func(ctx context.Context) error {
		now, err := w.holders(ctx)
		if err == nil && (now.String() == held.String() || now.Holders[0] == "") {
			err = fmt.Errorf("held are %v", now.Holders)
		}
		return err
	})
	w.change(b, func() { b.Spec.Data["made"] = "second" })
	w.isReady(b)
	if len(childWrites(two)) == 0 {
		t.Error("it did not take over")
	}
}
