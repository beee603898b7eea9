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
	scheme *runtime.Scheme
	ledger *Ledger[objectKey, client.Object]

	mu       sync.Mutex
	followed map[form]*lanes
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

// NewOverlay returns an overlay without writes.
func NewOverlay(scheme *runtime.Scheme) *Overlay {
	return &Overlay{
		scheme: scheme, followed: map[form]*lanes{}, indexes: map[indexed]client.IndexerFunc{},
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
	if o.follows(f) != nil {
		return nil
	}
	informer, err := from.GetInformer(ctx, example)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.followed[f] != nil {
		return nil
	}
	watches := o.lanes(from, f, informer)
	note := func(of any, gone bool) {
		object, ok := Last(of).(client.Object)
		if !ok {
			return
		}
		key := objectKey{f, client.ObjectKeyFromObject(object)}
		switch watch := watches.of(key); {
		case watch == nil:
		case gone:
			watch.Gone(key, FormOf(object))
		default:
			watch.Shown(key, FormOf(object), nil)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { note(o, false) },
		UpdateFunc: func(_, after any) { note(after, false) },
		DeleteFunc: func(o any) { note(o, true) },
	})
	if err == nil {
		o.followed[f] = watches
	}
	return err
}

// lanes are the watches of a form: one, or one for each namespace, from the first event or write there on.
type lanes struct {
	one    bool
	covers func(objectKey) bool
	begin  func(namespace string) *Watch[objectKey, client.Object]

	mu      sync.Mutex
	watches map[string]*Watch[objectKey, client.Object]
}

// of returns the watch of an object, or nil if no watch covers its namespace. Cluster-scoped objects have their own watch.
func (l *lanes) of(key objectKey) *Watch[objectKey, client.Object] {
	namespace := key.Namespace
	if l.one {
		namespace = ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches[namespace] == nil && (l.one || l.covers(key)) {
		l.watches[namespace] = l.begin(namespace)
	}
	return l.watches[namespace]
}

// lanes returns the watches of a form.
func (o *Overlay) lanes(from cache.Cache, f form, informer cache.Informer) *lanes {
	read := func(key objectKey) (Form, error) {
		found, err := o.example(key.form)
		if err == nil {
			err = from.Get(context.Background(), key.NamespacedName, found)
		}
		if err != nil {
			return Form{}, err
		}
		return FormOf(found), nil
	}
	cache := Cache[objectKey]{Form: func(key objectKey) Form {
		found, _ := read(key)
		return found
	}}
	whole, one := informer.(interface{ GetStore() toolscache.Store }) // covers all namespaces
	if one {
		cache.Version = func() uint64 { return resourceclient.Revision(whole.GetStore().LastStoreSyncResourceVersion()) }
	}
	return &lanes{
		one: one, watches: map[string]*Watch[objectKey, client.Object]{},
		covers: func(key objectKey) bool {
			_, err := read(key)
			return client.IgnoreNotFound(err) == nil
		},
		begin: func(namespace string) *Watch[objectKey, client.Object] {
			covers := func(key objectKey, _ client.Object) bool { return key.form == f && (one || key.Namespace == namespace) }
			return o.ledger.Watch(covers, cache, func(client.Object) {})
		},
	}
}

// Last returns the last known state of a deleted object.
func Last(of any) any {
	if tombstone, ok := of.(toolscache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return of
}

// follows returns the watches of a form, or nil if it is not read.
func (o *Overlay) follows(f form) *lanes {
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
