package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/dueling"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/queue"
	"github.com/operon-framework/operon/internal/runtime/report"
)

// objects holds the data about each object of a kind that is stored between its reconciles.
type objects struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*remembered
}

// remembered is the stored data about one object. Only its reconcile uses it, and the work queue
// runs one at a time; the last two fields are guarded by the lock of objects.
type remembered struct {
	uid types.UID
	// pace, duels and family belong to an object; another one of the same name starts with new ones.
	pace  queue.Pace
	duels dueling.Ledger
	// status is the report about an object whose own status belongs to other managers.
	status condition.Detached
	// family are the children that were seen.
	family apply.Family
	// heldSince is since when a status is held back; zero means that none is.
	heldSince time.Time
	readiness report.Readiness
	// preview is the last preview that a dry run showed.
	preview *report.Preview
	// announced are the author's events of the last reconcile, by the role that recorded them.
	announced map[string][]author.Event
	// cleanedUp reports that the author's Finalize has succeeded. It is not called again.
	cleanedUp bool
	// orphaned is the UID of the object if it is deleted without its children: garbage collection removes the finalizer that says so.
	orphaned types.UID
	// stopWork ends the running step of the work on the object with a UID; nil means that none runs.
	stopWork func(types.UID)
}

// get returns the stored data about an object.
func (o *objects) get(key types.NamespacedName) *remembered {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.locked(key)
}

// locked is get for those who hold the lock.
func (o *objects) locked(key types.NamespacedName) *remembered {
	if o.known == nil {
		o.known = map[types.NamespacedName]*remembered{}
	}
	if o.known[key] == nil {
		o.known[key] = &remembered{}
	}
	return o.known[key]
}

// forget drops the stored data about an object.
func (o *objects) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, key)
}

// orphan records that an object is deleted without its children.
func (o *objects) orphan(key types.NamespacedName, uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.locked(key).orphaned = uid
}

// orphaned reports whether orphan was called for an object.
func (o *objects) orphaned(key types.NamespacedName, uid types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.locked(key).orphaned == uid
}

// beginWork returns a context that ends when the work on an object is no longer wanted.
func (o *objects) beginWork(of *remembered, uid types.UID) (unwanted context.Context, done func()) {
	unwanted, cancel := context.WithCancel(context.Background())
	set := func(stop func(types.UID)) {
		o.mu.Lock()
		defer o.mu.Unlock()
		of.stopWork = stop
	}
	set(func(of types.UID) {
		if of == uid { // the event of an earlier object of the name may come late
			cancel()
		}
	})
	return unwanted, func() {
		set(nil)
		cancel()
	}
}

// stopWork ends the running step of an object's work, if any.
func (o *objects) stopWork(object client.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.known[client.ObjectKeyFromObject(object)]; known != nil && known.stopWork != nil {
		known.stopWork(object.GetUID())
	}
}

// becomes records the UID that the object was read with.
func (k *remembered) becomes(uid types.UID) {
	if k.uid != uid {
		k.uid, k.pace, k.duels, k.family, k.announced, k.status, k.cleanedUp = uid, queue.Pace{}, dueling.Ledger{}, apply.Family{}, nil, condition.Detached{}, false
	}
}

// hold returns how much longer the status has to be held back, or 0 if it has to be written
// or no status is held back.
func (k *remembered) hold(onlyMessages bool, now time.Time) time.Duration {
	if !onlyMessages {
		k.heldSince = time.Time{}
		return 0
	}
	if k.heldSince.IsZero() {
		k.heldSince = now
	}
	left := timing.messagePeriod - now.Sub(k.heldSince)
	if left <= 0 {
		k.heldSince = time.Time{}
	}
	return max(left, 0)
}

// news returns the events of a role that it did not record in the reconcile before: an author's code, which runs in
// every reconcile, may record its findings each time.
func (k *remembered) news(role string, recorded []author.Event) []author.Event {
	before := k.announced[role]
	if k.announced == nil {
		k.announced = map[string][]author.Event{}
	}
	k.announced[role] = recorded
	return slices.DeleteFunc(slices.Clone(recorded), func(e author.Event) bool { return slices.Contains(before, e) })
}
