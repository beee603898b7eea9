package apply

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/plan"
)

// Memory holds the last write to each child until the cache shows it or something newer.
//
// Guarantees: Newest never returns a state older than our last write to that object.
// Assumptions: resource versions of one kind can be compared as numbers, which Kubernetes
// promises since 1.35 and etcd has always done.
// Caveats: it is empty after a restart, when the caches are read anew anyway.
type Memory struct {
	mu    sync.Mutex
	last  map[plan.ID]write
	known map[types.NamespacedName]map[plan.ID]schema.GroupVersionKind
}

// write is what one write left behind.
type write struct {
	// object is what the server answered; nil after a deletion.
	object *unstructured.Unstructured
	// uid is the object that was written, deleted or released.
	uid types.UID
	// released: it is there, and ours no more.
	released bool
}

func newMemory() *Memory {
	return &Memory{last: map[plan.ID]write{}, known: map[types.NamespacedName]map[plan.ID]schema.GroupVersionKind{}}
}

// Newest returns the later of what the cache holds, which may be nil, and what was written.
func (m *Memory) Newest(id plan.ID, cached *unstructured.Unstructured) *unstructured.Unstructured {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.last[id]
	if !ok {
		return cached
	}
	switch {
	case last.released && cached != nil && cached.GetUID() == last.uid:
		return nil // the cache still shows what was released
	case last.object == nil && cached != nil && cached.GetUID() == last.uid:
		return going(cached) // finalizers may still hold it: it is gone when the cache says so
	case last.object != nil && (cached == nil || older(cached, last.object)):
		return last.object
	}
	delete(m.last, id)
	return cached
}

// Gone forgets a write because the object's deletion was seen: nothing newer will come to
// take its place.
func (m *Memory) Gone(o *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := plan.Of(o)
	if last, ok := m.last[id]; ok && last.uid == o.GetUID() {
		delete(m.last, id)
	}
}

// Known tells whether a child of owner was there before.
func (m *Memory) Known(owner types.NamespacedName, id plan.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.known[owner][id]
	return known
}

// Kinds returns the kinds of the children of owner that were there before.
func (m *Memory) Kinds(owner types.NamespacedName) []schema.GroupVersionKind {
	m.mu.Lock()
	defer m.mu.Unlock()
	kinds := map[schema.GroupVersionKind]bool{}
	for _, kind := range m.known[owner] {
		kinds[kind] = true
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
}

// Saw remembers that a child of owner is there.
func (m *Memory) Saw(owner types.NamespacedName, child *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[owner] == nil {
		m.known[owner] = map[plan.ID]schema.GroupVersionKind{}
	}
	m.known[owner][plan.Of(child)] = child.GroupVersionKind()
}

// Unsee forgets a child that was removed on purpose.
func (m *Memory) Unsee(owner types.NamespacedName, id plan.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known[owner], id)
}

// Forget drops what is remembered of the children of an owner that is gone.
func (m *Memory) Forget(owner types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.known[owner] {
		delete(m.last, id)
	}
	delete(m.known, owner)
}

// wrote remembers the server's answer to a write.
func (m *Memory) wrote(result *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[plan.Of(result)] = write{object: result, uid: result.GetUID()}
}

func (m *Memory) deleted(live *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[plan.Of(live)] = write{uid: live.GetUID()}
}

func (m *Memory) released(live *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[plan.Of(live)] = write{uid: live.GetUID(), released: true}
}

// going is an object that was deleted, as the cache will show it.
func going(cached *unstructured.Unstructured) *unstructured.Unstructured {
	if cached.GetDeletionTimestamp() != nil {
		return cached
	}
	deleting, now := cached.DeepCopy(), metav1.Now()
	deleting.SetDeletionTimestamp(&now)
	return deleting
}

// older tells whether a is an earlier state of the same object than b. An object of
// another UID under the same name is never older: it took b's place.
func older(a, b *unstructured.Unstructured) bool {
	if a.GetUID() != b.GetUID() {
		return false
	}
	return revision(a) < revision(b)
}

// revision is 0 where a resource version is no number; then the cache is believed.
func revision(o *unstructured.Unstructured) uint64 {
	n, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
