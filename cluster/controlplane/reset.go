package controlplane

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// quiet is how long nothing may be written before the cluster counts as settled.
// Controllers that were at work answer a deletion within a few milliseconds, each after
// some turns at the processor. Quiet is measured in such turns: where many wait for the
// processor, it lasts longer.
const (
	quiet = turns * turn
	turns = 10
	turn  = 5 * time.Millisecond
)

// volatile keys are neither remembered nor put back: heartbeats that live components
// renew, and events, which tell what happened.
var volatile = []string{registry + "leases/", registry + "masterleases/", registry + "events/"}

func isVolatile(key string) bool {
	return slices.ContainsFunc(volatile, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// isHeartbeat tells the cluster's own heartbeats from leases that users made: those in the
// system namespaces stay.
func isHeartbeat(key string) bool {
	return strings.HasPrefix(key, registry+"leases/kube-") || strings.HasPrefix(key, registry+"masterleases/")
}

// empty tells whether the API server has never stored anything here.
func (s *store) empty(ctx context.Context) (bool, error) {
	response, err := s.client.Get(ctx, registry, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return false, fmt.Errorf("read etcd: %w", err)
	}
	return len(response.Kvs) == 0, nil
}

// Reset takes the cluster back to the state of RememberFirst without restarting anything.
// It writes to etcd, below finalizers and admission; the API server and the controllers
// see ordinary deletions. It returns when what the controllers did about them is undone,
// too. Where something goes on writing, ctx ends it.
func (cp *ControlPlane) Reset(ctx context.Context) error {
	first, err := cp.awaitFirst(ctx)
	if err != nil {
		return err
	}
	if err := cp.release(ctx, first); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	cp.orphans.start()
	// Values are put back once: what differs afterwards is what a controller made of them.
	change := difference
	for {
		seen, changed, err := cp.become(ctx, first, change)
		if err != nil {
			return fmt.Errorf("reset: %w", err)
		}
		if err := cp.store.awaitSettled(ctx, seen); err != nil {
			return fmt.Errorf("reset: %w", err)
		}
		if !changed {
			return nil
		}
		change = surplus
	}
}

// AwaitFirst returns when the state that Reset returns to is known.
func (cp *ControlPlane) AwaitFirst(ctx context.Context) error {
	_, err := cp.awaitFirst(ctx)
	return err
}

func (cp *ControlPlane) awaitFirst(ctx context.Context) (snapshot, error) {
	if cp.first.taken == nil {
		return nil, errors.New("this control plane remembers no first state")
	}
	select {
	case <-cp.first.taken:
		return cp.first.snapshot, cp.first.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// become writes what change finds between the first state and what is seen at a revision.
func (cp *ControlPlane) become(ctx context.Context, first snapshot, change func([]*mvccpb.KeyValue, snapshot) []clientv3.Op) (seen int64, changed bool, err error) {
	entries, seen, err := cp.store.entries(ctx)
	if err != nil {
		return 0, false, err
	}
	ops := change(entries, first)
	for chunk := range slices.Chunk(ops, maxTxnOps) {
		written, err := cp.store.client.Txn(ctx).Then(chunk...).Commit()
		if err != nil {
			return 0, false, err
		}
		cp.orphans.remember(replaced(written), first)
	}
	return seen, len(ops) > 0, nil
}

// replaced is what was there before a transaction. It may be more than was read before: what
// came meanwhile between neighbours went with them.
func replaced(written *clientv3.TxnResponse) []*mvccpb.KeyValue {
	var all []*mvccpb.KeyValue
	for _, response := range written.Responses {
		all = append(all, response.GetResponseDeleteRange().GetPrevKvs()...)
		if was := response.GetResponsePut().GetPrevKv(); was != nil {
			all = append(all, was)
		}
	}
	return all
}

// difference lists what takes the entries, which are in the order of their keys, to the
// first state: deletions, then values to put back.
func difference(entries []*mvccpb.KeyValue, first snapshot) []clientv3.Op {
	ops := surplus(entries, first)
	present := map[string][]byte{}
	for _, entry := range entries {
		present[string(entry.Key)] = entry.Value
	}
	for key, value := range first {
		if now, ok := present[key]; !ok || !bytes.Equal(now, value) {
			ops = append(ops, clientv3.OpPut(key, string(value), clientv3.WithPrevKV()))
		}
	}
	return ops
}

// surplus lists the deletions of what the first state does not hold. Neighbours are
// deleted as one range, so that a thousand objects cost as much as ten.
func surplus(entries []*mvccpb.KeyValue, first snapshot) []clientv3.Op {
	var ops []clientv3.Op
	var run []string
	flush := func() {
		if len(run) > 0 {
			ops = append(ops, clientv3.OpDelete(run[0], clientv3.WithRange(run[len(run)-1]+"\x00"), clientv3.WithPrevKV()))
		}
		run = nil
	}
	for _, entry := range entries {
		key := string(entry.Key)
		if _, keep := first[key]; keep || isHeartbeat(key) {
			flush()
			continue
		}
		run = append(run, key)
	}
	flush()
	return ops
}

func (s *store) entries(ctx context.Context) ([]*mvccpb.KeyValue, int64, error) {
	response, err := s.client.Get(ctx, registry, clientv3.WithPrefix())
	if err != nil {
		return nil, 0, fmt.Errorf("read etcd: %w", err)
	}
	return response.Kvs, response.Header.Revision, nil
}

var errStoreEnded = errors.New("etcd has ended")

// awaitSettled returns when nothing but heartbeats and events was written for the quiet
// time, after a revision; 0: after etcd watches. Until it does, nobody knows whether it is quiet.
func (s *store) awaitSettled(ctx context.Context, after int64) error {
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	from := after
	if after > 0 {
		from++
	}
	writes := s.client.Watch(watched, registry, clientv3.WithPrefix(), clientv3.WithRev(from), clientv3.WithCreatedNotify())
	ticker := time.NewTicker(turn) // drops the ticks for which there was no turn
	defer ticker.Stop()
	var ticks <-chan time.Time
	last, calm := "nothing", 0
	for {
		select {
		case <-ticks:
			if calm++; calm >= turns {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("something goes on writing, last %s: %w", last, ctx.Err())
		case batch, open := <-writes:
			if !open {
				return fmt.Errorf("the watch of etcd ended: %w", cmp.Or(ctx.Err(), errStoreEnded))
			}
			if err := batch.Err(); err != nil {
				return fmt.Errorf("watch etcd: %w", err)
			}
			if batch.Created {
				ticks = ticker.C
			}
			for _, event := range batch.Events {
				if key := string(event.Kv.Key); !isVolatile(key) {
					last = strings.TrimPrefix(key, registry)
					calm = 0
				}
			}
		}
	}
}
