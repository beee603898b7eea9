package tree

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// RootKind is a kind of custom resource that an operator reconciles.
type RootKind struct {
	schema.GroupVersionResource
	// Kind is the name of the kind.
	Kind string
	// Reports reports that the operator is expected to write a status.
	Reports bool
}

// Sample is an object that must be in the tree. If it is not in the cluster, the state of its node is Missing.
type Sample struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// Watcher keeps its objects up to date until its context ends.
type Watcher struct {
	ctx     context.Context
	client  dynamic.Interface
	kinds   []kind
	roots   []RootKind
	changed chan struct{}

	mu      sync.Mutex
	stores  map[watched]cache.Store
	synced  []progress
	events  []cache.Store
	unseen  map[string]bool // kinds that may not be watched
	gone    map[string]bool // kinds that no longer exist
	samples []Sample
}

// progress reports whether all objects of a kind were read and processed. An object may require watching another namespace,
// of which nothing has been read yet.
type progress struct {
	kind string
	done cache.InformerSynced
}

// watched is a kind in a namespace, or in all namespaces if it is "".
type watched struct {
	schema.GroupVersionResource
	namespace string
}

// Watch starts watching all objects of the root kinds in the cluster, and the objects that they own.
func Watch(ctx context.Context, config *rest.Config, roots []RootKind) (*Watcher, error) {
	quiet := rest.CopyConfig(config)
	quiet.WarningHandler = rest.NoWarnings{} // deprecation warnings about kinds that the author does not use
	client, err := dynamic.NewForConfig(quiet)
	if err != nil {
		return nil, err
	}
	lookup, err := discovery.NewDiscoveryClientForConfig(quiet)
	if err != nil {
		return nil, err
	}
	w := &Watcher{
		ctx: ctx, client: client, roots: roots, changed: make(chan struct{}, 1),
		stores: map[watched]cache.Store{}, unseen: map[string]bool{}, gone: map[string]bool{},
	}
	if w.kinds, err = kinds(lookup); err != nil {
		return nil, err
	}
	for _, root := range roots {
		w.watch(root.GroupVersionResource, "")
	}
	return w, nil
}

// Changed returns a channel that receives after changes, once for all changes since the last receive.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Unseen returns the kinds that could not be watched, most likely because of missing permissions.
func (w *Watcher) Unseen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for name := range w.unseen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Expect adds samples to the tree.
func (w *Watcher) Expect(samples []Sample) {
	w.mu.Lock()
	w.samples = samples
	w.mu.Unlock()
	for _, sample := range samples {
		w.watchNamespace(sample.Namespace)
	}
	w.notify()
}

// watchNamespace starts watching all kinds in a namespace, or in the whole cluster if it is "".
func (w *Watcher) watchNamespace(namespace string) {
	for _, kind := range w.kinds {
		if kind.namespaced || namespace == "" {
			w.watch(kind.GroupVersionResource, namespace)
		}
	}
	w.watchEvents(namespace)
}

// watch starts an informer, unless one exists that reads the same objects.
func (w *Watcher) watch(resource schema.GroupVersionResource, namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range []string{"", namespace} {
		if _, there := w.stores[watched{resource, all}]; there {
			return
		}
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(w.client, resource, namespace, 0, cache.Indexers{}, nil).Informer()
	w.stores[watched{resource, namespace}] = informer.GetStore()
	w.start(informer, resource, w.seen)
}

// start runs an informer. The caller holds the lock.
func (w *Watcher) start(informer cache.SharedIndexInformer, resource schema.GroupVersionResource, seen func(*unstructured.Unstructured)) {
	changed := func(object any) {
		if got, ok := object.(*unstructured.Unstructured); ok {
			seen(got)
		}
		w.notify()
	}
	// None of these can fail on an informer that has not been started.
	_ = informer.SetTransform(strip)
	_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { w.failed(resource, err) })
	told, _ := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, object any) { changed(object) },
		DeleteFunc: changed,
	})
	w.synced = append(w.synced, progress{fmt.Sprint(resource.GroupResource()), told.HasSynced})
	go informer.Run(w.ctx.Done())
}

// seen starts watching the namespace of a root if it is not watched yet.
func (w *Watcher) seen(object *unstructured.Unstructured) {
	if w.rootKind(object) != nil {
		w.watchNamespace(object.GetNamespace())
	}
}

func (w *Watcher) failed(resource schema.GroupVersionResource, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch name := fmt.Sprint(resource.GroupResource()); {
	case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
		w.unseen[name] = true
	case apierrors.IsNotFound(err):
		w.gone[name] = true // the kind was deleted: there is nothing to wait for
	}
	// The informer retries after any error.
}

func (w *Watcher) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// rootKind returns the root kind of an object, or nil if it has another kind.
func (w *Watcher) rootKind(object *unstructured.Unstructured) *RootKind {
	group := object.GroupVersionKind()
	for i, root := range w.roots {
		if root.Group == group.Group && root.Kind == group.Kind {
			return &w.roots[i]
		}
	}
	return nil
}

// strip removes data that is never shown: managed fields, and the contents of Secrets and ConfigMaps.
func strip(object any) (any, error) {
	got, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	got.SetManagedFields(nil)
	if kind := got.GetKind(); kind == "Secret" || kind == "ConfigMap" {
		delete(got.Object, "data")
		delete(got.Object, "stringData")
		delete(got.Object, "binaryData")
	}
	annotations := got.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration") // it may repeat a Secret
	got.SetAnnotations(annotations)
	return got, nil
}
