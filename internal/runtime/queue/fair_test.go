package queue_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/runtime/queue"
)

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func newFair(t *testing.T) *queue.Fair {
	t.Helper()
	f := queue.NewFair(t.Name(), workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](), logr.Discard(), 3)
	t.Cleanup(f.ShutDown)
	return f
}

// taken takes n objects.
func taken(f *queue.Fair, n int) (names []string) {
	for range n {
		item, _ := f.Get()
		names = append(names, item.String())
		f.Done(item)
	}
	return names
}

func TestANamespaceWithABacklogWaitsForOthers(t *testing.T) {
	t.Parallel()
	f := newFair(t)
	for i := range 6 {
		f.Add(request("a", fmt.Sprint(i)))
		f.Add(request("a", "0")) // which is queued already
	}
	f.Add(request("b", "0"))
	f.Add(request("", "cluster-scoped"))
	want := []string{"a/0", "a/1", "a/2", "b/0", "/cluster-scoped", "a/3", "a/4"}
	if got := taken(f, len(want)); !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
	f.Add(request("a", "6")) // there is still a backlog
	f.Add(request("b", "1"))
	want = []string{"b/1", "a/5", "a/6"}
	if got := taken(f, len(want)); !slices.Equal(got, want) {
		t.Errorf("then the order is %q, want %q", got, want)
	}
	f.Add(request("a", "7"))
	f.Add(request("b", "2"))
	want = []string{"a/7", "b/2"}
	if got := taken(f, len(want)); !slices.Equal(got, want) {
		t.Errorf("after the backlog the order is %q, want %q", got, want)
	}
}

// The controller requeues an object with the priority that it got, which must not fall each time.
func TestABacklogChangesNoPriority(t *testing.T) {
	t.Parallel()
	f := newFair(t)
	for i := range 4 {
		f.AddWithOpts(priorityqueue.AddOpts{Priority: new(-100)}, request("a", fmt.Sprint(i)))
	}
	for i := range 4 {
		item, priority, _ := f.GetWithPriority()
		if priority != -100 {
			t.Errorf("object %d has priority %d", i, priority)
		}
		f.Done(item)
	}
}

func TestRequeuesMakeNoBacklog(t *testing.T) {
	t.Parallel()
	f := newFair(t)
	for i := range 5 {
		f.AddAfter(request("a", fmt.Sprint(i)), time.Hour)
		f.AddRateLimited(request("c", fmt.Sprint(i)))
	}
	taken(f, 5)
	f.Add(request("a", "new"))
	f.Add(request("b", "0"))
	want := []string{"a/new", "b/0"}
	if got := taken(f, len(want)); !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
}
