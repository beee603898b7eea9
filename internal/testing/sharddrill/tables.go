package sharddrill

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/operon-framework/operon/internal/core/shardtable"
	"github.com/operon-framework/operon/internal/runtime/shard"
)

// Tables records all versions of the tables of a cluster with a watch. The audit log alone is not enough: it records the write of a table as failed
// if its client timed out, even if it took effect.
type Tables struct {
	client  kubernetes.Interface
	watcher *toolswatch.RetryWatcher
	ended   chan struct{}

	mu      sync.Mutex
	writes  []Write
	latest  uint64
	failure error
}

// Record records tables until Stop is called, or until ctx ends.
func Record(ctx context.Context, config *rest.Config) (*Tables, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.CoordinationV1().Leases("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	t := &Tables{client: client, ended: make(chan struct{})}
	for i := range list.Items {
		t.add(&list.Items[i])
	}
	all := &cache.ListWatch{WatchFuncWithContext: client.CoordinationV1().Leases("").Watch}
	if t.watcher, err = toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, all); err != nil {
		return nil, err
	}
	go t.record()
	return t, nil
}

func (t *Tables) record() {
	defer close(t.ended)
	for event := range t.watcher.ResultChan() {
		switch lease, isLease := event.Object.(*coordinationv1.Lease); {
		case event.Type == watch.Error:
			t.fail(fmt.Errorf("the watch of Leases ended: %w", apierrors.FromObject(event.Object)))
		case isLease && event.Type != watch.Deleted:
			t.add(lease)
		}
	}
}

func (t *Tables) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failure = err
}

// add records a version of a Lease, if it contains a table.
func (t *Tables) add(lease *coordinationv1.Lease) {
	revision, err := strconv.ParseUint(lease.ResourceVersion, 10, 64)
	if err != nil {
		t.fail(fmt.Errorf("lease %s/%s: %w", lease.Namespace, lease.Name, err))
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latest = max(t.latest, revision)
	text, found := lease.Annotations[shard.TableAnnotation]
	if !found || !strings.HasSuffix(lease.Name, tableSuffix) {
		return
	}
	parsed, err := shardtable.Parse(text)
	if err != nil {
		t.failure = fmt.Errorf("lease %s/%s: %w", lease.Namespace, lease.Name, err)
		return
	}
	t.writes = append(t.writes, Write{Revision: revision, At: time.Now(), Object: tableResource + " " + lease.Namespace + "/" + lease.Name, Table: &parsed})
}

// Stop ends the recording.
func (t *Tables) Stop() {
	t.watcher.Stop()
	<-t.ended
}

// Read returns the versions of tables up to now. It fails if the record may have gaps, or does not reach the present within minutes.
func (t *Tables) Read(ctx context.Context) ([]Write, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	list, err := t.client.CoordinationV1().Leases("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	newest := uint64(0)
	for _, lease := range list.Items {
		revision, err := strconv.ParseUint(lease.ResourceVersion, 10, 64)
		if err != nil {
			return nil, err
		}
		newest = max(newest, revision)
	}
	for {
		t.mu.Lock()
		latest, failure, writes := t.latest, t.failure, t.writes
		t.mu.Unlock()
		if failure != nil || latest >= newest {
			return writes, failure
		}
		select {
		case <-t.ended:
			return nil, fmt.Errorf("the recording of tables ended at revision %d, want %d", latest, newest)
		default:
		}
		if !wait(ctx, 10*time.Millisecond) {
			return nil, fmt.Errorf("the record of tables is at revision %d, want %d: %w", latest, newest, ctx.Err())
		}
	}
}
