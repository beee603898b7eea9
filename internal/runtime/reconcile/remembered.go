package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/dueling"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/queue"
	"github.com/operon-framework/operon/internal/runtime/report"
)

// objects hold what is remembered of each object of a kind between its reconciles.
type objects struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*remembered
}

// remembered is what is remembered of one object. Its reconcile alone uses it, of which the work queue
// runs one at a time; stopWork is guarded by the lock of objects.
type remembered struct {
	uid types.UID
	// pace and duels are those of an object; another one of the same name starts with its own.
	pace  queue.Pace
	duels dueling.Ledger
	// status is what is reported of an object whose own status belongs to others.
	status condition.Detached
	// family are the children that were seen.
	family apply.Family
	// heldSince is since when a status is held back; zero: none is.
	heldSince time.Time
	readiness report.Readiness
	// preview is what a dry run showed last.
	preview *report.Preview
	// announced are the author's events of the last pass, by the role that recorded them.
	announced map[string][]author.Event
	// stopWork ends the step that the object's work is at; nil: none runs.
	stopWork context.CancelFunc
}

// get returns what is remembered of an object.
func (o *objects) get(key types.NamespacedName) *remembered {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[types.NamespacedName]*remembered{}
	}
	if o.known[key] == nil {
		o.known[key] = &remembered{}
	}
	return o.known[key]
}

// forget drops what is remembered of an object.
func (o *objects) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, key)
}

// beginWork returns a context that ends when the work on an object is no longer wanted.
func (o *objects) beginWork(of *remembered) (unwanted context.Context, done func()) {
	unwanted, cancel := context.WithCancel(context.Background())
	set := func(stop context.CancelFunc) {
		o.mu.Lock()
		defer o.mu.Unlock()
		of.stopWork = stop
	}
	set(cancel)
	return unwanted, func() {
		set(nil)
		cancel()
	}
}

// stopWork ends the step that an object's work is at, if it is at one.
func (o *objects) stopWork(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.known[key]; known != nil && known.stopWork != nil {
		known.stopWork()
	}
}

// becomes records the UID that the object was read with.
func (k *remembered) becomes(uid types.UID) {
	if k.uid != uid {
		k.uid, k.pace, k.duels, k.announced, k.status = uid, queue.Pace{}, dueling.Ledger{}, nil, condition.Detached{}
	}
}

// hold returns how much longer the status is to be held back, 0 when it is to be written
// or nothing is.
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

// news returns those of a role's events that it did not record in the pass before: an author's code, which runs in
// every pass, may state each time what it found.
func (k *remembered) news(role string, recorded []author.Event) []author.Event {
	before := k.announced[role]
	if k.announced == nil {
		k.announced = map[string][]author.Event{}
	}
	k.announced[role] = recorded
	return slices.DeleteFunc(slices.Clone(recorded), func(e author.Event) bool { return slices.Contains(before, e) })
}
