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
		changed, err := cp.settleIn(ctx, first, change)
		if err != nil {
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

// settleIn writes what change finds between now and the first state, and returns when all have settled in that. It
// watches before it looks: what is written after that is not missed.
func (cp *ControlPlane) settleIn(ctx context.Context, first snapshot, change func([]*mvccpb.KeyValue, snapshot) []clientv3.Op) (changed bool, err error) {
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	writes, err := cp.store.watch(watched)
	if err != nil {
		return false, err
	}
	if changed, err = cp.become(ctx, first, change); err != nil {
		return false, err
	}
	return changed, settled(ctx, writes)
}

// become writes what change finds between now and the first state.
func (cp *ControlPlane) become(ctx context.Context, first snapshot, change func([]*mvccpb.KeyValue, snapshot) []clientv3.Op) (changed bool, err error) {
	entries, _, err := cp.store.entries(ctx)
	if err != nil {
		return false, err
	}
	ops := change(entries, first)
	for chunk := range slices.Chunk(ops, maxTxnOps) {
		written, err := cp.store.client.Txn(ctx).Then(chunk...).Commit()
		if err != nil {
			return false, err
		}
		cp.orphans.remember(replaced(written), first)
	}
	return len(ops) > 0, nil
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

// awaitSettled returns when nothing but heartbeats and events was written for the quiet
// time.
func (s *store) awaitSettled(ctx context.Context) error {
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	writes, err := s.watch(watched)
	if err != nil {
		return err
	}
	return settled(ctx, writes)
}

var errStoreEnded = errors.New("etcd has ended")

// watch returns when etcd watches what is written. Until it does, nobody knows whether it is quiet.
func (s *store) watch(ctx context.Context) (clientv3.WatchChan, error) {
	writes := s.client.Watch(ctx, registry, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	created, open := <-writes // its context ends it
	if !open {
		return nil, fmt.Errorf("watch etcd: %w", cmp.Or(ctx.Err(), errStoreEnded))
	}
	if err := created.Err(); err != nil {
		return nil, fmt.Errorf("watch etcd: %w", err)
	}
	return writes, nil
}

// settled returns when nothing but heartbeats and events is written for the quiet time.
func settled(ctx context.Context, writes clientv3.WatchChan) error {
	ticker := time.NewTicker(turn) // drops the ticks for which there was no turn
	defer ticker.Stop()
	last, calm := "nothing", 0
	for {
		select {
		case <-ticker.C:
			if calm++; calm >= turns {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("something goes on writing, last %s: %w", last, ctx.Err())
		case batch, open := <-writes:
			if !open {
				return fmt.Errorf("watch etcd: %w", cmp.Or(ctx.Err(), errStoreEnded))
			}
			if err := batch.Err(); err != nil {
				return fmt.Errorf("watch etcd: %w", err)
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
