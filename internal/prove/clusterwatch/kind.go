package clusterwatch

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// kind watches the objects of one kind. It is the store of a reflector, which repeats the list after each failure of a watch.
type kind struct {
	witness  *Witness
	resource schema.GroupVersionResource
	named    schema.GroupVersionKind
	read     chan struct{} // closed when the existing objects have been read
	once     sync.Once
	end      context.CancelFunc // of the watch

	// open and listed report that a watch is open and that its objects have been read. interrupted is since when one of them does not hold. opened
	// is the start of the last watch, and before the start of the interruption before it.
	open, listed                bool
	interrupted, opened, before time.Time
}

// again is the delay before a broken watch is restarted. It stays short, because a run cannot go on in the meantime.
var again = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 500 * time.Millisecond}

// watch watches until ctx ends.
func (k *kind) watch(ctx context.Context) {
	objects := k.witness.client.Resource(k.resource)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := objects.List(ctx, options)
			if err != nil {
				return nil, k.failed(ctx, err)
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			opened, err := objects.Watch(ctx, options)
			if err != nil {
				return nil, k.failed(ctx, err)
			}
			k.opens(options.SendInitialEvents != nil && *options.SendInitialEvents)
			return &watched{Interface: opened, stopped: k.interrupt}, nil
		},
	}
	backoff := again
	reflector := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, k, cache.ReflectorOptions{
		Name: k.resource.String(), Backoff: &backoff,
	})
	reflector.RunWithContext(ctx)
}

// watched is a watch that reports when its reader has stopped it, which it also does after the API server ended it.
type watched struct {
	watch.Interface
	stopped func()
}

// Stop stops the watch.
func (w *watched) Stop() {
	w.Interface.Stop()
	w.stopped()
}

// opens records that a watch has been opened, which may begin with all existing objects.
func (k *kind) opens(lists bool) {
	k.witness.mu.Lock()
	defer k.witness.mu.Unlock()
	k.open, k.listed, k.opened = true, k.listed && !lists, time.Now()
	k.resume()
}

// interrupt records that the watch has ended. An API server that ends each watch at once causes one long interruption.
func (k *kind) interrupt() {
	k.witness.mu.Lock()
	defer k.witness.mu.Unlock()
	k.open = false
	if !k.interrupted.IsZero() {
		return
	}
	now := time.Now()
	if k.before.IsZero() || now.Sub(k.opened) > timing.steady {
		k.before = now
	}
	k.interrupted = k.before
}

// failed returns the error of a list or watch. A kind that does not exist is not interrupted: it has no changes, and is rarely created again.
func (k *kind) failed(ctx context.Context, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	k.witness.mu.Lock()
	k.interrupted = time.Time{}
	k.witness.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(timing.removed):
	}
	return err
}

// resume ends an interruption if the changes are shown again. The caller holds the witness's lock.
func (k *kind) resume() {
	if k.open && k.listed {
		k.interrupted = time.Time{}
	}
}

// Add records a new object.
func (k *kind) Add(object any) error { return k.take(object, string(watch.Added)) }

// Update records a changed object.
func (k *kind) Update(object any) error { return k.take(object, string(watch.Modified)) }

// Delete records the last state of a deleted object.
func (k *kind) Delete(object any) error { return k.take(object, string(watch.Deleted)) }

// Resync does nothing.
func (k *kind) Resync() error { return nil }

// Replace records all existing objects: at the start, and after a watch that was behind. What changed since that watch was missed: the object
// may have had other states in between, and the time and the version of a deletion are not known.
func (k *kind) Replace(objects []any, _ string) error {
	k.witness.mu.Lock()
	defer k.witness.mu.Unlock()
	first := false
	k.once.Do(func() { first = true })
	gone := k.known()
	for _, one := range objects {
		object, ok := one.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("an object of %s is a %T", k.resource, one)
		}
		delete(gone, address{object.GetNamespace(), object.GetName()})
		k.compare(object, first)
	}
	for _, object := range gone {
		k.miss(object, string(watch.Deleted))
	}
	k.listed = true
	k.resume()
	if first {
		close(k.read)
	}
	return nil
}

// address is the namespace and the name of an object of a kind.
type address struct{ namespace, name string }

// known returns the recorded objects of the kind.
func (k *kind) known() map[address]*unstructured.Unstructured {
	all := map[address]*unstructured.Unstructured{}
	for namespace, scene := range k.witness.scenes {
		for of, object := range maps.All(scene.objects) {
			if of.resource == k.resource.GroupResource() {
				all[address{namespace, of.name}] = object
			}
		}
	}
	return all
}

// compare records an object from a list. It does not record the objects of the initial list as changes.
func (k *kind) compare(object *unstructured.Unstructured, first bool) {
	scene := k.witness.scene(object.GetNamespace())
	of := key{k.resource.GroupResource(), object.GetName()}
	known := scene.objects[of]
	switch {
	case first:
		scene.objects[of], scene.newest[of] = object, resourceclient.Revision(object.GetResourceVersion())
	case known == nil:
		k.miss(object, string(watch.Added))
	case known.GetUID() != object.GetUID():
		k.miss(known, string(watch.Deleted))
		k.miss(object, string(watch.Added))
	case known.GetResourceVersion() != object.GetResourceVersion():
		k.miss(object, string(watch.Modified))
	}
}

// miss records a change that no watch has shown.
func (k *kind) miss(object *unstructured.Unstructured, what string) {
	change := k.change(object, what)
	change.Missed = true
	k.keep(object, change)
}

func (k *kind) take(one any, what string) error {
	object, ok := one.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("an object of %s is a %T", k.resource, one)
	}
	k.witness.mu.Lock()
	defer k.witness.mu.Unlock()
	k.note(object, what)
	return nil
}

// note records a change.
func (k *kind) note(object *unstructured.Unstructured, what string) {
	k.keep(object, k.change(object, what))
}

func (k *kind) keep(object *unstructured.Unstructured, change runlog.Change) {
	scene := k.witness.scene(object.GetNamespace())
	of := key{k.resource.GroupResource(), object.GetName()}
	scene.objects[of] = object
	scene.newest[of] = max(scene.newest[of], resourceclient.Revision(object.GetResourceVersion()))
	if change.Type == string(watch.Deleted) {
		delete(scene.objects, of)
	}
	scene.note(change, beside[of.resource])
}
