package freshness

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Overlay makes a client that reads from a cache read its own writes.
type Overlay struct {
	scheme     *runtime.Scheme
	namespaces []string
	ledger     *Ledger[objectKey, client.Object]

	mu       sync.Mutex
	followed map[form]bool
	indexes  map[indexed]client.IndexerFunc
}

// form is a kind in one of the forms in which it is read. Each form has its own watch.
type form struct {
	schema.GroupVersionKind
	as string
}

// objectKey identifies an object in a form.
type objectKey struct {
	form
	types.NamespacedName
}

// The forms of a kind.
const (
	typed    = "typed"
	loose    = "unstructured"
	metadata = "metadata"
)

// indexed is a field that a cache indexes.
type indexed struct {
	schema.GroupVersionKind
	field string
}

// NewOverlay returns an overlay without writes. The cache contains the objects of these namespaces, or of all if there are none.
func NewOverlay(scheme *runtime.Scheme, namespaces []string) *Overlay {
	return &Overlay{
		scheme: scheme, namespaces: namespaces, followed: map[form]bool{}, indexes: map[indexed]client.IndexerFunc{},
		ledger: New[objectKey](Config[client.Object]{Form: func(o client.Object) Form { return FormOf(o) }, Deleting: deleting}),
	}
}

// Kept returns the number of stored writes.
func (o *Overlay) Kept() int { return o.ledger.Kept() }

// formOf returns the form of an object or a list.
func (o *Overlay) formOf(object runtime.Object) (form, error) {
	kind, err := apiutil.GVKForObject(object, o.scheme)
	switch object.(type) {
	case *unstructured.Unstructured, *unstructured.UnstructuredList:
		return form{kind, loose}, err
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return form{kind, metadata}, err
	}
	return form{kind, typed}, err
}

// follow reports to the ledger what the watch of a form shows, from the first read on. example is an object of the form.
func (o *Overlay) follow(ctx context.Context, from cache.Cache, f form, example client.Object) error {
	if o.follows(f) {
		return nil
	}
	informer, err := from.GetInformer(ctx, example)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.followed[f] {
		return nil
	}
	lanes := o.lanes(from, f, informer)
	note := func(of any, gone bool) {
		object, ok := end(of).(client.Object)
		if !ok {
			return
		}
		watch, key := lanes[o.lane(object.GetNamespace())], objectKey{f, client.ObjectKeyFromObject(object)}
		if gone {
			watch.Gone(key, FormOf(object))
			return
		}
		watch.Shown(key, FormOf(object), nil)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { note(o, false) },
		UpdateFunc: func(_, after any) { note(after, false) },
		DeleteFunc: func(o any) { note(o, true) },
	})
	o.followed[f] = err == nil
	return err
}

// lane returns the namespace by which an object's watch is found. One watch may cover all namespaces.
func (o *Overlay) lane(namespace string) string {
	if len(o.namespaces) == 0 {
		return ""
	}
	return namespace
}

// lanes returns the watches of a form, by namespace. Cluster-scoped objects have their own watch.
func (o *Overlay) lanes(from cache.Cache, f form, informer cache.Informer) map[string]*Watch[objectKey, client.Object] {
	lanes := map[string]*Watch[objectKey, client.Object]{}
	cache := Cache[objectKey]{Form: func(key objectKey) Form {
		found, err := o.example(key.form)
		if err != nil || from.Get(context.Background(), key.NamespacedName, found) != nil {
			return Form{}
		}
		return FormOf(found)
	}}
	if one, ok := informer.(interface{ GetStore() toolscache.Store }); ok { // covers all namespaces
		cache.Version = func() uint64 { return resourceclient.Revision(one.GetStore().LastStoreSyncResourceVersion()) }
	}
	for _, namespace := range append([]string{""}, o.namespaces...) {
		covers := func(key objectKey, _ client.Object) bool { return key.form == f && o.lane(key.Namespace) == namespace }
		lanes[namespace] = o.ledger.Watch(covers, cache, func(client.Object) {})
	}
	return lanes
}

// end returns the last known state of a deleted object.
func end(of any) any {
	if tombstone, ok := of.(toolscache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return of
}

// follows reports whether a form is read.
func (o *Overlay) follows(f form) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.followed[f]
}

// deleting returns an object as the cache will show it after its deletion was requested.
func deleting(cached client.Object) client.Object {
	if cached.GetDeletionTimestamp() != nil {
		return cached
	}
	going := cached.DeepCopyObject().(client.Object)
	now := metav1.Now()
	going.SetDeletionTimestamp(&now)
	return going
}

// Cache returns a cache that reports its indexes to the overlay.
func (o *Overlay) Cache(inner cache.Cache) cache.Cache { return indexing{inner, o} }

type indexing struct {
	cache.Cache
	overlay *Overlay
}

// IndexField implements client.FieldIndexer.
func (i indexing) IndexField(ctx context.Context, object client.Object, field string, values client.IndexerFunc) error {
	if err := i.Cache.IndexField(ctx, object, field, values); err != nil {
		return err
	}
	f, err := i.overlay.formOf(object)
	if err != nil {
		return err
	}
	i.overlay.mu.Lock()
	defer i.overlay.mu.Unlock()
	i.overlay.indexes[indexed{f.GroupVersionKind, field}] = values
	return nil
}

func (o *Overlay) index(kind schema.GroupVersionKind, field string) client.IndexerFunc {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.indexes[indexed{kind, field}]
}
