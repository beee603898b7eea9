package controlplane

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// late is an etcd that begins to watch late, when something was written already.
type late struct {
	clientv3.Watcher
	write func()
	began atomic.Bool
	shown atomic.Int64
}

func (l *late) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	shown := make(chan clientv3.WatchResponse)
	time.AfterFunc(4*quiet, func() {
		defer close(shown)
		l.write()
		l.began.Store(true)
		for batch := range l.Watcher.Watch(ctx, key, options...) {
			l.shown.Add(int64(len(batch.Events)))
			select {
			case shown <- batch:
			case <-ctx.Done():
				return
			}
		}
	})
	return shown
}

// Calm that nobody watched is none, and what is written before etcd watches is not missed.
func TestCalmIsWatched(t *testing.T) {
	t.Parallel()
	cp := stored(t)
	_, seen, err := cp.store.entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	etcd := &late{Watcher: cp.store.client.Watcher, write: func() {
		if _, err := cp.store.client.Put(t.Context(), registry+"pods/team/one", "x"); err != nil {
			t.Error(err)
		}
	}}
	cp.store.client.Watcher = etcd
	if err := cp.store.awaitSettled(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	if !etcd.began.Load() {
		t.Error("it counts as calm before etcd watches")
	}
	if etcd.shown.Load() != 1 {
		t.Errorf("%d writes were seen, want the one before etcd watched", etcd.shown.Load())
	}
}

// An etcd that has ended is not calm.
func TestAnEtcdThatEndedIsNotCalm(t *testing.T) {
	t.Parallel()
	cp := stored(t)
	if err := cp.store.client.Watcher.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cp.store.awaitSettled(t.Context(), 0); err == nil {
		t.Error("it counts as calm")
	}
}
