package reconcile

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// own tells the watch's report of a status that the operator wrote from news. The report
// often comes before the answer to the write: then it is kept until the answer is there.
type own struct {
	mu     sync.Mutex
	writes map[types.NamespacedName]*statusWrite
}

// statusWrite is the last write of an object's status, from its beginning until the watch
// reports it.
type statusWrite struct {
	running bool
	// read is the revision of what was read before the write: earlier ones are known too.
	read uint64
	// version is what the write made, when it is over.
	version string
	// reported is what the watch reported meanwhile.
	reported []string
}

func (o *own) begin(key types.NamespacedName, read string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writes == nil {
		o.writes = map[types.NamespacedName]*statusWrite{}
	}
	o.writes[key] = &statusWrite{running: true, read: resourceclient.Revision(read)}
}

// end ends a write that made a version, or none. It returns whether the watch reported
// something else meanwhile, which is news.
func (o *own) end(key types.NamespacedName, version string) (news bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writes[key]
	if w == nil {
		return false
	}
	w.running, w.version = false, version
	shown := slices.Contains(w.reported, version)
	if version == "" || shown {
		delete(o.writes, key)
	}
	return len(w.reported) > 1 || len(w.reported) == 1 && !shown
}

// is tells whether what the watch reports is a write of ours, or may be.
func (o *own) is(object client.Object) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := client.ObjectKeyFromObject(object)
	w := o.writes[key]
	switch {
	case w == nil:
		return false
	case w.read > 0 && resourceclient.Revision(object.GetResourceVersion()) <= w.read:
		return true
	case w.running:
		w.reported = append(w.reported, object.GetResourceVersion())
		return true
	case w.version == object.GetResourceVersion():
		delete(o.writes, key)
		return true
	}
	return false
}

func (o *own) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.writes, key)
}

// changed tells whether more than the status differs. A watch that was interrupted may show
// what others did together with our write.
func changed(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() || before.GetGeneration() != after.GetGeneration() ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
		!reflect.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
}
