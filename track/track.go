// Package track watches what reconciles read. A reconcile says what it reads as it reads
// it; when that changes, the object that was reconciled is queued again. Nobody can forget
// to declare a watch, and nothing is watched that nobody reads.
//
// Guarantees: a change of an object that a reconcile read, or of one that its selection
// would have found, queues the reader. Watches are shared by all readers and end with the
// last one. Only objects that carry the labels of a selection are held in memory.
//
// Assumptions: selections are by labels with given values; the same set of label keys is
// used for many readers, as is usual (app and instance, say), for each set is one watch of
// a kind.
//
// Caveats: reading everything of a kind is refused.
package track

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/cause"
)

// syncDeadline bounds how long a reconcile waits for a new watch to have read its kind.
const syncDeadline = 30 * time.Second

// Selection is what a reconcile reads: the objects of a kind in a namespace, or in all,
// that carry the labels.
type Selection struct {
	Namespace string
	Labels    map[string]string
}

// keys names the watch that serves a selection.
func (s Selection) keys() string { return strings.Join(slices.Sorted(maps.Keys(s.Labels)), ",") }

// index is what an object must have to be in the selection.
func (s Selection) index() string { return s.Namespace + separator + s.values() }

// values are those of the labels, in the order of their keys.
func (s Selection) values() string {
	var values []string
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		values = append(values, s.Labels[key])
	}
	return strings.Join(values, separator)
}

// separator is in no name, label key or value.
const separator = "\x00"

// selected is the index of an informer by the values of the labels that its watch selects
// by. Without it, each read would look at every object of the kind.
const selected = "selected"

// valuesOf tells where in the index selected an object stands.
func valuesOf(keys string) client.IndexerFunc {
	return func(o client.Object) []string {
		sel := Selection{Labels: map[string]string{}}
		for key := range strings.SplitSeq(keys, ",") {
			sel.Labels[key] = o.GetLabels()[key]
		}
		return []string{sel.values()}
	}
}

// Config of a tracker.
type Config struct {
	// REST reaches the API server.
	REST *rest.Config
	// Client reads without a cache, to ask for permission before a watch is started.
	Client client.WithWatch
	// Namespaces limits what is watched; empty means all.
	Namespaces map[string]cache.Config
	// Changed is called with each reader of an object that changed, and with what happened.
	// It must not block.
	Changed func(reader types.NamespacedName, why cause.Cause)
	// Deleted is called with each object that was seen to go, if it is held as a whole.
	Deleted func(*unstructured.Unstructured)
}

// Tracker holds the watches of one controller.
type Tracker struct {
	cfg Config

	mu      sync.Mutex
	life    context.Context
	caches  map[string]cache.Cache
	watches map[watchID]*watch
	readers map[types.NamespacedName]map[use]bool
}

// watchID names an informer.
type watchID struct {
	keys         string
	kind         schema.GroupVersionKind
	unstructured bool
}

// use is one selection of one watch.
type use struct {
	watch watchID
	index string
}

// watch is an informer and who reads from it, by what they select.
type watch struct {
	object  client.Object
	readers map[string]map[types.NamespacedName]bool

	starting sync.Mutex // held while the informer starts, so that it gets one handler
	started  bool
}

// New returns a tracker that watches until life ends.
func New(life context.Context, cfg Config) *Tracker {
	return &Tracker{
		cfg:     cfg,
		life:    life,
		caches:  map[string]cache.Cache{},
		watches: map[watchID]*watch{},
		readers: map[types.NamespacedName]map[use]bool{},
	}
}

// Session is the reading of one reconcile.
type Session struct {
	tracker *Tracker
	reader  types.NamespacedName
	used    map[use]bool
}

// Begin starts the reading of a reconcile of reader.
func (t *Tracker) Begin(reader types.NamespacedName) *Session {
	return &Session{tracker: t, reader: reader, used: map[use]bool{}}
}

// End keeps the watches that were read in this session and releases those that only an
// earlier one read. Without End, as after a reconcile that failed halfway, all are kept.
func (s *Session) End(ctx context.Context) error {
	t := s.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	for u := range t.readers[s.reader] {
		if !s.used[u] {
			err = errors.Join(err, t.release(ctx, u, s.reader))
		}
	}
	if len(s.used) == 0 {
		delete(t.readers, s.reader)
	}
	return err
}

// release takes a reader off a watch and ends the watch after the last. The lock is held.
func (t *Tracker) release(ctx context.Context, u use, reader types.NamespacedName) error {
	delete(t.readers[reader], u)
	w := t.watches[u.watch]
	delete(w.readers[u.index], reader)
	if len(w.readers[u.index]) == 0 {
		delete(w.readers, u.index)
	}
	if len(w.readers) > 0 {
		return nil
	}
	delete(t.watches, u.watch)
	return t.caches[u.watch.keys].RemoveInformer(ctx, w.object)
}

// List reads the selected objects into list from a watch, which is started if it is the
// first to read its kind. A refused permission is returned as the API server's error.
func (s *Session) List(ctx context.Context, list client.ObjectList, sel Selection) error {
	if len(sel.Labels) == 0 {
		return fmt.Errorf("listing %T without labels would hold every object of the kind in memory; select by labels, with client.MatchingLabels", list)
	}
	object, id, err := s.tracker.identify(list, sel)
	if err != nil {
		return err
	}
	reader, err := s.tracker.watch(ctx, object, id, sel, s.reader)
	if err != nil {
		return err
	}
	s.used[use{id, sel.index()}] = true
	return reader.List(ctx, list, client.InNamespace(sel.Namespace), client.MatchingFields{selected: sel.values()})
}

func (t *Tracker) identify(list client.ObjectList, sel Selection) (client.Object, watchID, error) {
	kind, err := apiutil.GVKForObject(list, t.cfg.Client.Scheme())
	if err != nil {
		return nil, watchID{}, err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	_, loose := list.(*unstructured.UnstructuredList)
	id := watchID{keys: sel.keys(), kind: kind, unstructured: loose}
	if loose {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		return object, id, nil
	}
	made, err := t.cfg.Client.Scheme().New(kind)
	if err != nil {
		return nil, watchID{}, err
	}
	object, ok := made.(client.Object)
	if !ok {
		return nil, watchID{}, fmt.Errorf("%T is no object of a cluster", made)
	}
	return object, id, nil
}

// watch registers the reader and returns what to read from. The reader is registered
// before anything is read, so that no change in between is missed.
func (t *Tracker) watch(ctx context.Context, object client.Object, id watchID, sel Selection, reader types.NamespacedName) (client.Reader, error) {
	source, err := t.cache(sel)
	if err != nil {
		return nil, err
	}
	w := t.register(object, id, sel.index(), reader)
	return source, t.start(ctx, w, source, id, sel)
}

// start starts the informer of a watch, once, and waits until it has read its kind.
func (t *Tracker) start(ctx context.Context, w *watch, source cache.Cache, id watchID, sel Selection) error {
	w.starting.Lock()
	defer w.starting.Unlock()
	if w.started {
		return nil
	}
	if err := t.mayRead(ctx, id, sel); err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, syncDeadline)
	defer cancel()
	if err := source.IndexField(patient, w.object, selected, valuesOf(id.keys)); err != nil {
		return fmt.Errorf("watch %s: %w", id.kind.Kind, err)
	}
	informer, err := source.GetInformer(patient, w.object)
	if err != nil {
		return fmt.Errorf("watch %s: %w", id.kind.Kind, err)
	}
	if _, err := informer.AddEventHandler(t.handler(id)); err != nil {
		return fmt.Errorf("watch %s: %w", id.kind.Kind, err)
	}
	w.started = true
	return nil
}

// mayRead lists one object and opens a watch. An informer without permission would try
// for ever and tell nobody but the log.
func (t *Tracker) mayRead(ctx context.Context, id watchID, sel Selection) error {
	namespaces := slices.Collect(maps.Keys(t.cfg.Namespaces))
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		probe := &unstructured.UnstructuredList{}
		probe.SetGroupVersionKind(id.kind.GroupVersion().WithKind(id.kind.Kind + "List"))
		selected := []client.ListOption{client.Limit(1), client.InNamespace(namespace), client.MatchingLabels(sel.Labels)}
		if err := t.cfg.Client.List(ctx, probe, selected...); err != nil {
			return err
		}
		opened, err := t.cfg.Client.Watch(ctx, probe, selected...)
		if err != nil {
			return err
		}
		opened.Stop()
	}
	return nil
}

func (t *Tracker) register(object client.Object, id watchID, index string, reader types.NamespacedName) *watch {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.watches[id]
	if w == nil {
		w = &watch{object: object, readers: map[string]map[types.NamespacedName]bool{}}
		t.watches[id] = w
	}
	if w.readers[index] == nil {
		w.readers[index] = map[types.NamespacedName]bool{}
	}
	w.readers[index][reader] = true
	if t.readers[reader] == nil {
		t.readers[reader] = map[use]bool{}
	}
	t.readers[reader][use{id, index}] = true
	return w
}

// cache returns the cache of the objects that have the labels of a selection, whatever
// their values.
func (t *Tracker) cache(sel Selection) (cache.Cache, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found := t.caches[sel.keys()]; found != nil {
		return found, nil
	}
	selector := labels.NewSelector()
	for key := range sel.Labels {
		has, err := labels.NewRequirement(key, selection.Exists, nil)
		if err != nil {
			return nil, err
		}
		selector = selector.Add(*has)
	}
	made, err := cache.New(t.cfg.REST, cache.Options{
		Scheme:               t.cfg.Client.Scheme(),
		Mapper:               t.cfg.Client.RESTMapper(),
		DefaultNamespaces:    t.cfg.Namespaces,
		DefaultLabelSelector: selector,
		DefaultTransform:     slim,
	})
	if err != nil {
		return nil, err
	}
	t.caches[sel.keys()] = made
	go func() {
		// Start returns when life ends, and fails only when it is called twice.
		if err := made.Start(t.life); err != nil {
			panic(err)
		}
	}()
	return made, nil
}

// handler queues the readers of what changed, by what it was and what it is.
func (t *Tracker) handler(id watchID) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { t.changed(id, appeared, o) },
		UpdateFunc: func(before, after any) {
			t.changed(id, changed, before, after)
		},
		DeleteFunc: func(o any) {
			if tombstone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = tombstone.Obj
			}
			if gone, ok := o.(*unstructured.Unstructured); ok && t.cfg.Deleted != nil {
				t.cfg.Deleted(gone)
			}
			t.changed(id, gone, o)
		},
	}
}

// changed queues the readers of an object, by its states before and after.
func (t *Tracker) changed(id watchID, what happening, states ...any) {
	objects := objectsOf(states)
	if len(objects) == 0 {
		return
	}
	why := causeOf(id, what, objects)
	told := map[types.NamespacedName]bool{}
	for _, object := range objects {
		for _, reader := range t.readersOf(id, object) {
			if !told[reader] {
				told[reader] = true
				t.cfg.Changed(reader, why)
			}
		}
	}
}

func (t *Tracker) readersOf(id watchID, object client.Object) []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.watches[id]
	if w == nil {
		return nil
	}
	selected := Selection{Labels: map[string]string{}}
	for key := range strings.SplitSeq(id.keys, ",") {
		selected.Labels[key] = object.GetLabels()[key]
	}
	everywhere := selected.index()
	selected.Namespace = object.GetNamespace()
	return slices.AppendSeq(slices.Collect(maps.Keys(w.readers[everywhere])), maps.Keys(w.readers[selected.index()]))
}

// Watches counts the watches, for tests and metrics.
func (t *Tracker) Watches() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.watches)
}
