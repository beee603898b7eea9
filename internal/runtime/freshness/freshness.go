// Package freshness makes a client that reads from a cache read its own writes.
//
// A cache shows a write when its watch does, which is later than the answer to the write.
// Code that decides on what it reads then decides on the state before its own last act:
// it creates twice, and undoes what it did. The overlay keeps the answer of each write until
// the watch shows it, and lays it over what the cache says.
//
// Guarantees: Get and List never show an object older than the last write of this client to
// it: created (under a generated name too), updated, patched, applied, its status written,
// or deleted. An object that was deleted is shown as being deleted until the cache has seen
// its end. Nothing waits: neither a write for the watch, nor a read, nor one object for
// another. What is kept is the writes that watches have not shown yet, of kinds that are
// read from the cache and within its namespaces, and nothing else.
//
// Assumptions: a kind is read before it is written: of a kind that was never read, nothing is
// kept. Resource versions of one kind are numbers that grow.
//
// Caveats: DeleteAllOf and subresources other than status are not laid over. A list by the
// field of an index shows new objects once the cache does, unless the index is made by the
// cache of Overlay.Cache. It is empty after a restart, when caches are read anew anyway.
package freshness

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Overlay keeps the writes of one operator.
type Overlay struct {
	scheme     *runtime.Scheme
	namespaces []string

	mu      sync.Mutex
	shelves map[form]*shelf
	indexes map[indexed]client.IndexerFunc
}

// form is a kind in one of the forms in which it is read, each of which has a watch.
type form struct {
	schema.GroupVersionKind
	as string
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

// New returns an empty overlay. The cache holds objects of these namespaces, or with none
// those of all.
func New(scheme *runtime.Scheme, namespaces []string) *Overlay {
	return &Overlay{scheme: scheme, namespaces: namespaces, shelves: map[form]*shelf{}, indexes: map[indexed]client.IndexerFunc{}}
}

// Kept counts the writes that are kept.
func (o *Overlay) Kept() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := 0
	for _, s := range o.shelves {
		kept += s.len()
	}
	return kept
}

// formOf is the form of an object or a list.
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

// holds tells whether the cache holds objects of a namespace.
func (o *Overlay) holds(namespace string) bool {
	return namespace == "" || len(o.namespaces) == 0 || slices.Contains(o.namespaces, namespace)
}

// reading returns the shelf of a kind that is read from the cache, and from the first read on
// lets the cache tell it what the watch shows. example is an object of the form.
func (o *Overlay) reading(ctx context.Context, from cache.Informers, f form, example client.Object) (*shelf, error) {
	if s := o.shelf(f); s != nil {
		return s, nil
	}
	informer, err := from.GetInformer(ctx, example)
	if err != nil {
		return nil, err
	}
	s := o.put(f)
	s.following.Do(func() {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    s.shown,
			UpdateFunc: func(_, after any) { s.shown(after) },
			DeleteFunc: s.gone,
		})
	})
	return s, err
}

func (o *Overlay) shelf(f form) *shelf {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shelves[f]
}

func (o *Overlay) put(f form) *shelf {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shelves[f] == nil {
		o.shelves[f] = newShelf()
	}
	return o.shelves[f]
}

// shelvesOf are the shelves of a kind, in whatever form it is read.
func (o *Overlay) shelvesOf(kind schema.GroupVersionKind) map[form]*shelf {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := map[form]*shelf{}
	for f, s := range o.shelves {
		if f.GroupVersionKind == kind {
			found[f] = s
		}
	}
	return found
}

// Cache returns a cache that tells the overlay what it indexes.
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
