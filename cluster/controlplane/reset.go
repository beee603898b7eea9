package controlplane

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/operon-framework/operon/cluster/pki"
)

// snapshot is what etcd held at one time: key → value.
type snapshot map[string][]byte

// quiet is how long nothing may be written before a reset counts as settled. Controllers
// that were at work answer a deletion within a few milliseconds.
const quiet = 60 * time.Millisecond

// volatile keys are neither remembered nor put back: heartbeats that live components
// renew, and events, which tell what happened.
var volatile = []string{registry + "leases/", registry + "masterleases/", registry + "events/"}

func isVolatile(key string) bool {
	return slices.ContainsFunc(volatile, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// empty tells whether the API server has never stored anything here.
func (s *store) empty(ctx context.Context) (bool, error) {
	response, err := s.client.Get(ctx, registry, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return false, fmt.Errorf("read etcd: %w", err)
	}
	return len(response.Kvs) == 0, nil
}

// RememberFirst makes the present state the one that Reset returns to. Where the state
// was kept from an earlier start, that start's first state stays the first.
func (cp *ControlPlane) RememberFirst(ctx context.Context) error {
	if cp.cfg.durable() {
		kept, err := readSnapshot(cp.firstFile())
		if err != nil || kept != nil {
			cp.first = kept
			return err
		}
	}
	entries, _, err := cp.store.entries(ctx)
	if err != nil {
		return err
	}
	first := snapshot{}
	for _, entry := range entries {
		if key := string(entry.Key); !isVolatile(key) {
			first[key] = entry.Value
		}
	}
	cp.first = first
	if !cp.cfg.durable() {
		return nil
	}
	return writeSnapshot(cp.firstFile(), first)
}

func (cp *ControlPlane) firstFile() string { return filepath.Join(cp.cfg.DataDir, "first-state") }

// Reset takes the cluster back to the state of RememberFirst without restarting anything.
// It writes to etcd, below finalizers and admission; the API server and the controllers
// see ordinary deletions. It returns when nothing has moved for a moment.
func (cp *ControlPlane) Reset(ctx context.Context) error {
	if cp.first == nil {
		return errors.New("this control plane remembers no first state")
	}
	for {
		revision, changed, err := cp.restore(ctx)
		if err != nil {
			return err
		}
		settled, err := cp.store.settled(ctx, revision+1)
		if err != nil {
			return err
		}
		if settled && !changed {
			return nil
		}
	}
}

// restore writes the difference between now and the first state.
func (cp *ControlPlane) restore(ctx context.Context) (revision int64, changed bool, err error) {
	entries, revision, err := cp.store.entries(ctx)
	if err != nil {
		return 0, false, err
	}
	ops := difference(entries, cp.first)
	for chunk := range slices.Chunk(ops, maxTxnOps) {
		response, err := cp.store.client.Txn(ctx).Then(chunk...).Commit()
		if err != nil {
			return 0, false, fmt.Errorf("reset: %w", err)
		}
		revision = response.Header.Revision
	}
	return revision, len(ops) > 0, nil
}

// difference lists what takes the entries, which are in the order of their keys, to the
// first state. Neighbours that are to go are deleted as one range, so that a thousand
// objects cost as much as ten.
func difference(entries []*mvccpb.KeyValue, first snapshot) []clientv3.Op {
	var ops []clientv3.Op
	var run []string
	flush := func() {
		if len(run) > 0 {
			after := run[len(run)-1] + "\x00"
			ops = append(ops, clientv3.OpDelete(run[0], clientv3.WithRange(after)))
		}
		run = nil
	}
	present := map[string]bool{}
	for _, entry := range entries {
		key := string(entry.Key)
		want, keep := first[key]
		present[key] = true
		switch {
		case keep && !bytes.Equal(entry.Value, want):
			flush()
			ops = append(ops, clientv3.OpPut(key, string(want)))
		case keep, isLease(key):
			flush()
		default:
			run = append(run, key)
		}
	}
	flush()
	for key, value := range first {
		if !present[key] {
			ops = append(ops, clientv3.OpPut(key, string(value)))
		}
	}
	return ops
}

// isLease tells heartbeats of the cluster's own from leases that users made: those in the
// system namespaces stay.
func isLease(key string) bool {
	return strings.HasPrefix(key, registry+"leases/kube-") || strings.HasPrefix(key, registry+"masterleases/")
}

func (s *store) entries(ctx context.Context) ([]*mvccpb.KeyValue, int64, error) {
	response, err := s.client.Get(ctx, registry, clientv3.WithPrefix())
	if err != nil {
		return nil, 0, fmt.Errorf("read etcd: %w", err)
	}
	return response.Kvs, response.Header.Revision, nil
}

// settled watches from revision and tells whether nothing but heartbeats was written
// before the quiet time was over. It returns false once writes came and ceased.
func (s *store) settled(ctx context.Context, revision int64) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	writes := s.client.Watch(ctx, registry, clientv3.WithPrefix(), clientv3.WithRev(revision))
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	settled := true
	for {
		select {
		case <-timer.C:
			return settled, nil
		case batch := <-writes:
			if err := batch.Err(); err != nil {
				return false, fmt.Errorf("watch etcd: %w", err)
			}
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if slices.ContainsFunc(batch.Events, func(e *clientv3.Event) bool { return !isLease(string(e.Kv.Key)) }) {
				settled = false
				timer.Reset(quiet)
			}
		}
	}
}

func readSnapshot(path string) (snapshot, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kept snapshot
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&kept); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return kept, nil
}

func writeSnapshot(path string, s snapshot) error {
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(s); err != nil {
		return err
	}
	return pki.WriteFile(path, data.Bytes())
}
