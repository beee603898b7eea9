package shard

import (
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/shardtable"
)

// Owners limits the list and watch of a kind to the objects whose slots are worked
// on. Objects of a slot appear when the work on it begins, and disappear when it ends, as if they had been
// created and deleted; so a cache holds no others.
//
// The API server selects them if it can. Otherwise they are selected by the label
// plan.ShardLabel, which the member sets on objects that lack it.
//
// Kinds for which shared returns false are not limited.
func (m *Member) Owners(all toolscache.ListerWatcher, kind schema.GroupVersionKind, example client.Object, shared func() bool) toolscache.ListerWatcher {
	return &union{member: m, all: toolscache.ToListerWatcherWithContext(all), kind: kind, example: example, shared: shared}
}

// union combines the objects of several slots into one watch.
type union struct {
	member  *Member
	all     toolscache.ListerWatcherWithContext
	kind    schema.GroupVersionKind
	example client.Object
	shared  func() bool
}

// IsWatchListSemanticsUnSupported informs reflectors that the watch does not begin with the existing objects.
func (u *union) IsWatchListSemanticsUnSupported() bool { return true }

// List implements toolscache.Lister.
func (u *union) List(options metav1.ListOptions) (runtime.Object, error) {
	return u.ListWithContext(context.Background(), options)
}

// ListWithContext implements toolscache.ListerWithContext. The list is empty: the watch delivers the objects.
func (u *union) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if !u.shared() {
		return u.all.ListWithContext(ctx, options)
	}
	return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

// Watch implements toolscache.Watcher.
func (u *union) Watch(options metav1.ListOptions) (apiwatch.Interface, error) {
	return u.WatchWithContext(context.Background(), options)
}

// WatchWithContext implements toolscache.WatcherWithContext.
func (u *union) WatchWithContext(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	if !u.shared() {
		return u.all.WatchWithContext(ctx, options)
	}
	ctx, stop := context.WithCancel(ctx)
	w := &shown{union: u, life: ctx, stop: stop, events: make(chan apiwatch.Event, 64), slots: map[int]*feed{}}
	offered, err := offered(ctx, u.all)
	if err != nil {
		stop()
		return nil, err
	}
	if !offered {
		w.labels = newLabeller(u)
		go w.labels.run(ctx)
	}
	unfollow := u.member.slots.follow(w)
	context.AfterFunc(ctx, unfollow)
	return w, nil
}

// shown is one watch of a union.
type shown struct {
	*union
	life   context.Context
	stop   context.CancelFunc
	events chan apiwatch.Event
	// labels is nil if the API server selects.
	labels *labeller

	mu    sync.Mutex
	slots map[int]*feed
}

// feed is the part of a watch for one slot.
type feed struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// Stop implements watch.Interface.
func (w *shown) Stop() { w.stop() }

// ResultChan implements watch.Interface.
func (w *shown) ResultChan() <-chan apiwatch.Event { return w.events }

func (w *shown) send(kind apiwatch.EventType, object runtime.Object) {
	select {
	case w.events <- apiwatch.Event{Type: kind, Object: object}:
	case <-w.life.Done():
	}
}

// opened begins to deliver the objects of a slot. The member's lock is held.
func (w *shown) opened(slot int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	life, stop := context.WithCancel(w.life)
	f, before := &feed{stop: stop, ended: make(chan struct{})}, w.slots[slot]
	w.slots[slot] = f
	slots := *w.member.assignment.parsed
	go func() {
		defer close(f.ended)
		if before != nil {
			<-before.ended // its objects are removed first
		}
		w.feed(life, slots, slot)
	}()
	if w.labels != nil {
		w.labels.wake()
	}
}

// closed ends that.
func (w *shown) closed(slot int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.slots[slot]; f != nil {
		f.stop()
	}
}

// glimpse is the data of an object that is stored in order to report its deletion.
type glimpse struct {
	namespace, name, revision string
	uid                       types.UID
}

// feed delivers the objects of a slot until its life ends, and then their deletions.
func (w *shown) feed(life context.Context, slots shardtable.Table, slot int) {
	known := map[string]glimpse{}
	narrow := func(o *metav1.ListOptions) {
		if w.labels == nil {
			o.ShardSelector = slots.Range(slot)
			return
		}
		o.LabelSelector = slots.Labelled(Label, slot)
	}
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			narrow(&o)
			return w.all.ListWithContext(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			narrow(&o)
			return w.all.WatchWithContext(ctx, o)
		},
	}
	store := &slotStore{shown: w, slots: slots, slot: slot, known: known}
	toolscache.NewReflectorWithOptions(source, w.example, store, toolscache.ReflectorOptions{}).RunWithContext(life)
	for _, object := range known {
		w.sendGone(object)
	}
}

// sendGone reports the deletion of an object of which only this data is known.
func (w *shown) sendGone(object glimpse) {
	gone, ok := w.example.DeepCopyObject().(client.Object)
	if !ok {
		return
	}
	gone.SetNamespace(object.namespace)
	gone.SetName(object.name)
	gone.SetUID(object.uid)
	gone.SetResourceVersion(object.revision)
	w.send(apiwatch.Deleted, gone)
}

// slotStore forwards the objects of a slot that a reflector delivers.
type slotStore struct {
	*shown
	slots shardtable.Table
	slot  int
	known map[string]glimpse
}

// Add implements toolscache.ReflectorStore. An API server that does not select delivers other
// objects too, and another client may have written a wrong label.
func (s *slotStore) Add(o any) error {
	object, ok := o.(client.Object)
	if !ok {
		return nil
	}
	if s.slots.SlotOf(object.GetUID()) != s.slot {
		if s.labels != nil {
			s.labels.wrong(object)
		}
		return nil
	}
	key := keyOf(object)
	kind := apiwatch.Added
	if last, known := s.known[key]; known {
		if last.revision == object.GetResourceVersion() {
			return nil // read again after the watch was interrupted
		}
		kind = apiwatch.Modified
	}
	s.known[key] = glimpse{object.GetNamespace(), object.GetName(), object.GetResourceVersion(), object.GetUID()}
	s.send(kind, object)
	return nil
}

// Update implements toolscache.ReflectorStore.
func (s *slotStore) Update(o any) error { return s.Add(o) }

// Delete implements toolscache.ReflectorStore.
func (s *slotStore) Delete(o any) error {
	object, ok := o.(client.Object)
	if _, known := s.known[keyOf(object)]; ok && known {
		delete(s.known, keyOf(object))
		s.send(apiwatch.Deleted, object)
	}
	return nil
}

// Replace implements toolscache.ReflectorStore.
func (s *slotStore) Replace(all []any, _ string) error {
	left := map[string]bool{}
	for _, o := range all {
		if object, ok := o.(client.Object); ok {
			left[keyOf(object)] = true
		}
		if err := s.Add(o); err != nil {
			return err
		}
	}
	for key, object := range s.known {
		if !left[key] {
			delete(s.known, key)
			s.sendGone(object)
		}
	}
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (s *slotStore) Resync() error { return nil }

// nonsense is a selector that no API server can parse.
const nonsense = "no selection"

// offered reports whether the API server selects objects by ranges of hashes. A server that does refuses an
// invalid selector; a server that does not never reads it. (Lists of custom resources
// do not show by what they were selected.)
func offered(ctx context.Context, all toolscache.ListerWatcherWithContext) (bool, error) {
	_, err := all.ListWithContext(ctx, metav1.ListOptions{Limit: 1, ShardSelector: nonsense})
	if err != nil && strings.Contains(err.Error(), "shard selector") {
		return true, nil
	}
	return false, err
}
