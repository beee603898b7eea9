package freshness

import (
	"maps"
	"math"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// shelf keeps the writes to the objects of one kind in one form.
type shelf struct {
	following sync.Once // the cache's events

	mu      sync.Mutex
	writes  map[types.NamespacedName]write
	flights map[*flight]bool
}

// write is what one write left behind.
type write struct {
	uid types.UID
	// object is what the server answered; nil after a deletion.
	object client.Object
}

// flight is a write that is not answered yet, with the revisions that the watch has shown of
// objects meanwhile: often it shows what a write made before the answer is there.
type flight struct{ shown map[types.UID]uint64 }

// ended is later than all revisions.
const ended = math.MaxUint64

func newShelf() *shelf {
	return &shelf{writes: map[types.NamespacedName]write{}, flights: map[*flight]bool{}}
}

func (s *shelf) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes)
}

// begin begins a write.
func (s *shelf) begin() *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &flight{shown: map[types.UID]uint64{}}
	s.flights[f] = true
	return f
}

// land ends a write. One that failed leaves nothing behind, as far as is known.
func (s *shelf) land(f *flight, key types.NamespacedName, w *write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flights, f)
	if w == nil || f.shown[w.uid] == ended || w.object != nil && f.shown[w.uid] >= revision(w.object) {
		return
	}
	if last, ok := s.writes[key]; ok && last.object != nil && w.object != nil && older(w.object, last.object) {
		return // of two writes at the same time, the answer of the later one came first
	}
	s.writes[key] = *w
}

// shown notes a state that the watch shows.
func (s *shelf) shown(o any) {
	object, ok := o.(client.Object)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(object.GetUID(), revision(object))
	key := client.ObjectKeyFromObject(object)
	w, ok := s.writes[key]
	if ok && (w.object == nil && w.uid != object.GetUID() || w.object != nil && !older(object, w.object)) {
		delete(s.writes, key)
	}
}

// note lets the writes that are not answered yet know what the watch shows.
func (s *shelf) note(uid types.UID, revision uint64) {
	for f := range s.flights {
		f.shown[uid] = max(f.shown[uid], revision)
	}
}

// gone notes an end that the watch shows.
func (s *shelf) gone(o any) {
	if tombstone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = tombstone.Obj
	}
	object, ok := o.(client.Object)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(object.GetUID(), ended)
	key := client.ObjectKeyFromObject(object)
	if w, ok := s.writes[key]; ok && w.uid == object.GetUID() {
		delete(s.writes, key)
	}
}

// all returns the writes that are kept.
func (s *shelf) all() map[types.NamespacedName]write {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.writes)
}

func (s *shelf) of(key types.NamespacedName) (write, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.writes[key]
	return w, ok
}

// over returns what is to be shown of an object that the cache shows, which is nil for none:
// that, or what was written. Neither may be changed by the caller.
func (w write) over(cached client.Object) client.Object {
	switch {
	case w.object == nil && cached != nil && cached.GetUID() == w.uid:
		return deleting(cached)
	case w.object != nil && (cached == nil || older(cached, w.object)):
		return w.object
	}
	return cached
}

// deleting is an object that was deleted, as the cache will show it.
func deleting(cached client.Object) client.Object {
	if cached.GetDeletionTimestamp() != nil {
		return cached
	}
	going, ok := cached.DeepCopyObject().(client.Object)
	if !ok {
		return cached
	}
	now := metav1.Now()
	going.SetDeletionTimestamp(&now)
	return going
}

// older tells whether a is an earlier state than b of what has their name: of the same
// object, or one whose place b took.
func older(a, b client.Object) bool {
	return revision(a) < revision(b)
}

func revision(o client.Object) uint64 { return resourceclient.Revision(o.GetResourceVersion()) }
