package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/shardtable"
	"github.com/operon-framework/operon/internal/runtime/shard"
	"github.com/operon-framework/operon/internal/testing/box"
)

// writers is the number of goroutines that create objects concurrently.
const writers = 16

// fill creates the Boxes that do not exist yet.
func (c *boxes) fill(ctx context.Context, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range n {
		group.Go(func() error {
			b := &box.Box{ObjectMeta: metav1.ObjectMeta{Name: boxName(i), Namespace: metav1.NamespaceDefault}, Spec: box.BoxSpec{Data: map[string]string{"made": "first"}}}
			return client.IgnoreAlreadyExists(c.Client.Create(ctx, b))
		})
	}
	return group.Wait()
}

func boxName(i int) string { return fmt.Sprintf("box-%d", i) }

// change changes a Box.
func (c *boxes) change(ctx context.Context, name, value string) (*box.Box, error) {
	b := &box.Box{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	patch := fmt.Sprintf(`{"spec":{"data":{"made":%q}}}`, value)
	return b, c.Client.Patch(ctx, b, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// touch writes each Box once, which shows in the audit log that it was handled.
func (c *boxes) touch(ctx context.Context, n int) error {
	for i := range n {
		b := &box.Box{ObjectMeta: metav1.ObjectMeta{Name: boxName(i), Namespace: metav1.NamespaceDefault}}
		if err := c.Client.Patch(ctx, b, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"touched":"true"}}}`))); err != nil {
			return err
		}
	}
	return nil
}

// allReady returns when all Boxes are ready for their current generation.
func (c *boxes) allReady(ctx context.Context, n int) error {
	return wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(ctx context.Context) (bool, error) {
		var list box.BoxList
		if err := c.Client.List(ctx, &list); err != nil {
			return false, err
		}
		ready := 0
		for i := range list.Items {
			if b := &list.Items[i]; b.Status.ObservedGeneration == b.Generation && meta.IsStatusConditionTrue(b.Status.Conditions, "Ready") {
				ready++
			}
		}
		return ready == n, nil
	})
}

// seenTo returns when a replica has handled the generation of a Box.
func (c *boxes) seenTo(ctx context.Context, changed *box.Box) error {
	return wait.PollUntilContextCancel(ctx, 5*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		b := &box.Box{}
		err := c.Client.Get(ctx, client.ObjectKeyFromObject(changed), b)
		return b.Status.ObservedGeneration >= changed.Generation && meta.IsStatusConditionTrue(b.Status.Conditions, "Ready"), err
	})
}

// table returns the table of slots and their holders.
func (c *boxes) table(ctx context.Context) (shardtable.Table, error) {
	lease := &coordinationv1.Lease{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "box-operator-shards"}, lease); err != nil {
		return shardtable.Table{}, client.IgnoreNotFound(err)
	}
	return shardtable.Parse(lease.Annotations[shard.TableAnnotation])
}

// spread returns the table when this number of replicas share all slots.
func (c *boxes) spread(ctx context.Context, replicas int) (t shardtable.Table, err error) {
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if t, err = c.table(ctx); err != nil {
			return false, err
		}
		holders := holdersOf(t)
		return len(holders) == replicas && !holders[""], nil
	})
	return t, err
}

func holdersOf(t shardtable.Table) map[string]bool {
	holders := map[string]bool{}
	for _, holder := range t.Holders {
		holders[holder] = true
	}
	return holders
}
