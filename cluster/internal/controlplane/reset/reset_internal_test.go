package reset

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// late is an etcd that starts its watches late.
type late struct {
	clientv3.Watcher
	began atomic.Bool
}

func (l *late) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	shown := make(chan clientv3.WatchResponse)
	time.AfterFunc(4*turns*timing.turn, func() {
		defer close(shown)
		l.began.Store(true)
		for batch := range l.Watcher.Watch(ctx, key, options...) {
			select {
			case shown <- batch:
			case <-ctx.Done():
				return
			}
		}
	})
	return shown
}

// Time before the watch has started does not count as quiet.
func TestCalmIsWatched(t *testing.T) {
	t.Parallel()
	r := stored(t)
	etcd := &late{Watcher: r.etcd.Watcher}
	r.etcd.Watcher = etcd
	if err := awaitSettled(t.Context(), r.etcd); err != nil {
		t.Fatal(err)
	}
	if !etcd.began.Load() {
		t.Error("it counts as calm before etcd watches")
	}
}

// Writes of controllers after a reset has read etcd are seen: its watch has started before.
func TestAResetWatchesBeforeItLooks(t *testing.T) {
	t.Parallel()
	r := stored(t)
	etcd := &late{Watcher: r.etcd.Watcher}
	r.etcd.Watcher = etcd
	_, err := r.settleIn(t.Context(), nil, func([]*mvccpb.KeyValue, snapshot) []clientv3.Op {
		if !etcd.began.Load() {
			t.Error("etcd is read before it is watched")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An etcd that has ended does not count as quiet.
func TestAnEtcdThatEndedIsNotCalm(t *testing.T) {
	t.Parallel()
	r := stored(t)
	if err := r.etcd.Watcher.Close(); err != nil {
		t.Fatal(err)
	}
	if err := awaitSettled(t.Context(), r.etcd); err == nil {
		t.Error("it counts as calm")
	}
}
