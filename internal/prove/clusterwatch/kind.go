package clusterwatch

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

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
}

// again is the delay before a broken watch is restarted.
var again = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 8, Cap: 5 * time.Second}

// watch watches until ctx ends.
func (k *kind) watch(ctx context.Context) {
	objects := k.witness.client.Resource(k.resource)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	}
	backoff := again
	reflector := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, k, cache.ReflectorOptions{
		Name: k.resource.String(), Backoff: &backoff,
	})
	reflector.RunWithContext(ctx)
}

// Add records a new object.
func (k *kind) Add(object any) error { return k.take(object, string(watch.Added)) }

// Update records a changed object.
func (k *kind) Update(object any) error { return k.take(object, string(watch.Modified)) }

// Delete records the last state of a deleted object.
func (k *kind) Delete(object any) error { return k.take(object, string(watch.Deleted)) }

// Resync does nothing.
func (k *kind) Resync() error { return nil }

// Replace records all existing objects: at the start, and after a watch that was behind.
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
		k.note(object, string(watch.Deleted))
	}
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
		k.note(object, string(watch.Added))
	case known.GetUID() != object.GetUID():
		k.note(known, string(watch.Deleted))
		k.note(object, string(watch.Added))
	case known.GetResourceVersion() != object.GetResourceVersion():
		k.note(object, string(watch.Modified))
	}
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
	scene := k.witness.scene(object.GetNamespace())
	of := key{k.resource.GroupResource(), object.GetName()}
	scene.objects[of] = object
	scene.newest[of] = max(scene.newest[of], resourceclient.Revision(object.GetResourceVersion()))
	if what == string(watch.Deleted) {
		delete(scene.objects, of)
	}
	scene.note(k.change(object, what), beside[of.resource])
}
