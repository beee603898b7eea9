package sim

import (
	"context"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// object is the type of the objects in a feed, such as *corev1.Pod.
type object interface {
	runtime.Object
	metav1.Object
}

// handler moves objects of one kind to their desired states.
type handler[T object] interface {
	// handle performs the next step for obj. A positive duration requests another call after that time, unless a newer version of
	// obj arrives first. An error requests a retry.
	handle(ctx context.Context, obj T) (time.Duration, error)
}

// follower is a handler that also needs to know, at once and in order, which objects exist.
type follower[T object] interface {
	seen(obj T)
	gone(obj T)
	// only is called after each list with all existing objects.
	only(objs []T)
}

// feed watches the objects of one kind and passes each to a handler, but never one object to two workers at the same time.
//
// Guarantees: the last version of every object is handled, and retried until it succeeds or a newer version replaces it.
// Caveats: intermediate versions may be skipped. Objects without pending work are not stored, so the memory of a feed depends
// on the pending work and not on the size of the cluster.
type feed[T object] struct {
	source  cache.ListerWatcher
	handler handler[T]
	workers int
	log     *slog.Logger

	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]
	mu     sync.Mutex
	newest map[types.NamespacedName]T
	listed chan struct{} // closed after the first list
	once   sync.Once
}

func newFeed[T object](source cache.ListerWatcher, h handler[T], workers int, log *slog.Logger) *feed[T] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](timing.retryMin, timing.retryMax)
	return &feed[T]{
		source:  source,
		handler: h,
		workers: workers,
		log:     log,
		queue:   workqueue.NewTypedRateLimitingQueue(limiter),
		newest:  map[types.NamespacedName]T{},
		listed:  make(chan struct{}),
	}
}

// run passes objects to the handler until ctx ends. It returns when all workers have stopped. The first object is handled when
// all objects are known: the address of one may depend on the addresses of others.
func (f *feed[T]) run(ctx context.Context) {
	var group sync.WaitGroup
	for range f.workers {
		group.Go(func() {
			select {
			case <-f.listed:
			case <-ctx.Done():
			}
			for f.work(ctx) {
			}
		})
	}
	var expected T
	cache.NewReflectorWithOptions(f.source, expected, f, cache.ReflectorOptions{}).RunWithContext(ctx)
	f.queue.ShutDown()
	group.Wait()
}

// offer enqueues obj. It replaces an older version that is still waiting.
func (f *feed[T]) offer(obj T) {
	obj.SetManagedFields(nil) // half of the object, and not needed
	name := nameOf(obj)
	f.mu.Lock()
	f.newest[name] = obj
	f.mu.Unlock()
	f.queue.Add(name)
}

func nameOf(obj object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// remind enqueues obj, unless a newer version is already waiting.
func (f *feed[T]) remind(obj T) {
	obj.SetManagedFields(nil)
	f.putBack(nameOf(obj), obj)
	f.queue.Add(nameOf(obj))
}

// putBack stores obj for a later call unless the same or a newer version is already waiting.
func (f *feed[T]) putBack(name types.NamespacedName, obj T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if waiting, found := f.newest[name]; found {
		order, err := resourceversion.CompareResourceVersion(waiting.GetResourceVersion(), obj.GetResourceVersion())
		if err != nil || order >= 0 {
			return
		}
	}
	f.newest[name] = obj
}

func (f *feed[T]) take(name types.NamespacedName) (T, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	obj, ok := f.newest[name]
	delete(f.newest, name)
	return obj, ok
}

// work handles one object. It returns false when the queue is shut down.
func (f *feed[T]) work(ctx context.Context) bool {
	name, shutdown := f.queue.Get()
	if shutdown {
		return false
	}
	defer f.queue.Done(name)
	obj, ok := f.take(name)
	if !ok || ctx.Err() != nil {
		return true
	}
	again, err := f.handler.handle(ctx, obj)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		f.log.Warn("a simulated object cannot be updated; trying again", "object", name.String(), "error", err)
		f.putBack(name, obj)
		f.queue.AddRateLimited(name)
	case again > 0:
		f.queue.Forget(name)
		f.putBack(name, obj)
		f.queue.AddAfter(name, again)
	default:
		f.queue.Forget(name)
	}
	return true
}

// Add, Update, Delete, Replace and Resync make feed a store for a reflector.

// Add enqueues a new object.
func (f *feed[T]) Add(obj any) error { return f.Update(obj) }

// Update enqueues a changed object.
func (f *feed[T]) Update(obj any) error {
	changed := obj.(T)
	if follower, ok := f.handler.(follower[T]); ok {
		follower.seen(changed)
	}
	f.offer(changed)
	return nil
}

// Delete removes a deleted object.
func (f *feed[T]) Delete(obj any) error {
	gone := obj.(T)
	f.take(nameOf(gone))
	if follower, ok := f.handler.(follower[T]); ok {
		follower.gone(gone)
	}
	return nil
}

// Replace enqueues all existing objects, and removes all others.
func (f *feed[T]) Replace(list []any, _ string) error {
	objs := make([]T, 0, len(list))
	for _, obj := range list {
		objs = append(objs, obj.(T))
	}
	f.mu.Lock()
	clear(f.newest)
	f.mu.Unlock()
	if follower, ok := f.handler.(follower[T]); ok {
		follower.only(objs)
	}
	for _, obj := range objs {
		f.offer(obj)
	}
	f.once.Do(func() { close(f.listed) })
	return nil
}

// Resync does nothing: a feed stores no objects that it could send again.
func (f *feed[T]) Resync() error { return nil }
