package reset

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
	"k8s.io/client-go/rest"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"

	"github.com/operon-framework/operon/cluster/internal/controlplane"
	"github.com/operon-framework/operon/cluster/internal/controlplane/storage"
)

// turns is the number of processor turns without writes after which the cluster counts as settled. Turns take longer if many
// processes wait for the processor.
const turns = 10

// volatile keys are neither remembered nor restored: heartbeats, which running components renew, and events, which are history.
var volatile = []string{storage.Registry + "leases/", storage.Registry + "masterleases/", storage.Registry + "events/"}

func isVolatile(key string) bool { return startsWith(key, volatile) }

func startsWith(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// heartbeats are the prefixes of the cluster's own leases: those of nodes, of API servers, and of the controllers and the
// scheduler if leader-elect is set. They are not deleted. Users may have other leases in the same namespaces.
var heartbeats = []string{
	storage.Registry + "masterleases/",
	storage.Registry + "leases/kube-node-lease/",
	storage.Registry + "leases/kube-system/apiserver-",
	storage.Registry + "leases/kube-system/kube-controller-manager",
	storage.Registry + "leases/kube-system/kube-scheduler",
}

func isHeartbeat(key string) bool { return startsWith(key, heartbeats) }

// Resetter restores the first state of one control plane. Its methods may be called concurrently.
type Resetter struct {
	cfg        controlplane.Config
	etcd       *clientv3.Client
	aggregator *aggregator.APIAggregator
	admin      *rest.Config
	first      firstState
	origin     origin // of a first state that is recorded now
	writes     gate
	orphans    *orphans
}

// New returns a Resetter for a control plane that is started with cfg and with the Resetter's Extension.
func New(cfg controlplane.Config) *Resetter { return &Resetter{cfg: cfg, orphans: newOrphans()} }

// Extension returns the extension that makes it possible to reset a control plane.
func (r *Resetter) Extension() controlplane.Extension {
	return controlplane.Extension{
		Stored: func(_ context.Context, etcd *clientv3.Client, _ bool) error {
			r.etcd = etcd
			return nil
		},
		Admission: r.orphans.register,
		Handler:   r.writes.wrap,
		Built:     func(server controlplane.APIServer) { r.aggregator = server.Aggregator },
	}
}

// Reset restores the state of RememberFirst without restarting anything. It writes directly to etcd, bypassing finalizers and
// admission. The API server and the controllers see ordinary deletions. Reset returns when the reactions of the controllers are
// undone, too. If writes never stop, it runs until ctx ends.
func (r *Resetter) Reset(ctx context.Context) error {
	first, err := r.awaitFirst(ctx)
	if err != nil {
		return err
	}
	if err := r.release(ctx, first); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	r.orphans.start()
	// Values are restored once. Later differences are the work of controllers.
	change := difference
	for {
		changed, err := r.settleIn(ctx, first, change)
		if err != nil {
			return fmt.Errorf("reset: %w", err)
		}
		if !changed {
			return nil
		}
		change = surplus
	}
}

// AwaitFirst returns when the state that Reset restores is known.
func (r *Resetter) AwaitFirst(ctx context.Context) error {
	_, err := r.awaitFirst(ctx)
	return err
}

func (r *Resetter) awaitFirst(ctx context.Context) (snapshot, error) {
	if r.first.taken == nil {
		return nil, errors.New("this control plane has no record of its initial state")
	}
	select {
	case <-r.first.taken:
		return r.first.snapshot, r.first.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// settleIn writes the operations that change returns for the current and the first state, and returns when all components have
// settled. It starts its watch before it reads, so it misses no later write.
func (r *Resetter) settleIn(ctx context.Context, first snapshot, change func([]*mvccpb.KeyValue, snapshot) []clientv3.Op) (changed bool, err error) {
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	writes, err := watch(watched, r.etcd)
	if err != nil {
		return false, err
	}
	if changed, err = r.become(ctx, first, change); err != nil {
		return false, err
	}
	return changed, settled(ctx, writes)
}

// become writes the operations that change returns for the current and the first state.
func (r *Resetter) become(ctx context.Context, first snapshot, change func([]*mvccpb.KeyValue, snapshot) []clientv3.Op) (changed bool, err error) {
	entries, _, err := readEntries(ctx, r.etcd)
	if err != nil {
		return false, err
	}
	ops := change(entries, first)
	for chunk := range slices.Chunk(ops, storage.MaxTxnOps) {
		written, err := r.etcd.Txn(ctx).Then(chunk...).Commit()
		if err != nil {
			return false, err
		}
		r.orphans.remember(replaced(written), first)
	}
	return len(ops) > 0, nil
}

// replaced returns the entries that a transaction replaced or deleted. These may be more than were read before: entries that
// were created in the meantime between two deleted keys are deleted, too.
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

// difference lists the operations that change the entries, which are sorted by key, to the first state: deletions, then
// restored values.
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

// surplus lists the deletions of entries that are not in the first state. Neighboring keys are deleted as one range, so
// deleting a thousand objects takes as long as ten.
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

func readEntries(ctx context.Context, etcd *clientv3.Client) ([]*mvccpb.KeyValue, int64, error) {
	response, err := etcd.Get(ctx, storage.Registry, clientv3.WithPrefix())
	if err != nil {
		return nil, 0, fmt.Errorf("read etcd: %w", err)
	}
	return response.Kvs, response.Header.Revision, nil
}

// awaitSettled returns when only heartbeats and events were written for the quiet time.
func awaitSettled(ctx context.Context, etcd *clientv3.Client) error {
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	writes, err := watch(watched, etcd)
	if err != nil {
		return err
	}
	return settled(ctx, writes)
}

var errStoreEnded = errors.New("etcd has ended")

// watch returns when the watch of etcd has started. Until then, writes could be missed.
func watch(ctx context.Context, etcd *clientv3.Client) (clientv3.WatchChan, error) {
	writes := etcd.Watch(ctx, storage.Registry, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	created, open := <-writes // ends with its context
	if !open {
		return nil, fmt.Errorf("watch etcd: %w", cmp.Or(ctx.Err(), errStoreEnded))
	}
	if err := created.Err(); err != nil {
		return nil, fmt.Errorf("watch etcd: %w", err)
	}
	return writes, nil
}

// settled returns when only heartbeats and events are written for the quiet time.
func settled(ctx context.Context, writes clientv3.WatchChan) error {
	ticker := time.NewTicker(timing.turn) // drops ticks during which this goroutine did not run
	defer ticker.Stop()
	last, calm := "nothing", 0
	for {
		select {
		case <-ticker.C:
			if calm++; calm >= turns {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("writes continue, the latest is %s: %w", last, ctx.Err())
		case batch, open := <-writes:
			if !open {
				return fmt.Errorf("watch etcd: %w", cmp.Or(ctx.Err(), errStoreEnded))
			}
			if err := batch.Err(); err != nil {
				return fmt.Errorf("watch etcd: %w", err)
			}
			for _, event := range batch.Events {
				if key := string(event.Kv.Key); !isVolatile(key) {
					last = strings.TrimPrefix(key, storage.Registry)
					calm = 0
				}
			}
		}
	}
}
