package queue

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Fair is a priority queue in which the objects of a namespace with a backlog wait behind those of other
// namespaces, so that one tenant's objects do not delay those of all others.
//
// Guarantees: objects of one namespace keep their order. A backlog ends when none of its objects is left in the queue.
// Caveats: namespaces with a backlog share what the others leave over, in the order of their objects. Requeues
// after a time do not count for a backlog. Objects without a namespace never wait for others.
type Fair struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	// limit is how many objects of a namespace make a backlog.
	limit int

	mu         sync.Mutex
	namespaces map[string]*line
	places     map[reconcile.Request]place
}

// line holds the queued objects of a namespace.
type line struct {
	length  int
	backlog bool
}

// place is where an object is queued.
type place struct {
	// counted means that it is in the line of its namespace. Objects that are requeued after a time are not.
	counted bool
	// behind means that its priority is lower by one.
	behind bool
}

// NewFair returns a queue for a controller. limit is how many objects of one namespace may wait before the next
// ones wait behind those of other namespaces.
func NewFair(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], log logr.Logger, limit int) *Fair {
	inner := priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter, o.Log = limiter, log })
	return &Fair{PriorityQueue: inner, limit: limit, namespaces: map[string]*line{}, places: map[reconcile.Request]place{}}
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (f *Fair) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, item := range items {
		each := o
		if f.queue(item, o.After > 0 || o.RateLimited) {
			each.Priority = new(ptr.Deref(o.Priority, 0) - 1)
		}
		f.PriorityQueue.AddWithOpts(each, item)
	}
}

// queue notes an object, and reports whether it has to wait behind those of other namespaces.
func (f *Fair) queue(item reconcile.Request, later bool) (behind bool) {
	if item.Namespace == "" {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.namespaces[item.Namespace]
	at, queued := f.places[item]
	if !queued {
		at.behind = of != nil && of.backlog
	}
	if !later && !at.counted {
		if of == nil {
			of = &line{}
			f.namespaces[item.Namespace] = of
		}
		at.counted = true
		of.length++
		of.backlog = of.backlog || of.length >= f.limit
	}
	f.places[item] = at
	return at.behind
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (f *Fair) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, priority, shutdown = f.PriorityQueue.GetWithPriority()
	if !shutdown && f.leave(item) {
		priority++
	}
	return item, priority, shutdown
}

// leave removes an object, and reports whether it waited behind those of other namespaces.
func (f *Fair) leave(item reconcile.Request) (behind bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.places[item]
	delete(f.places, item)
	if of := f.namespaces[item.Namespace]; at.counted {
		if of.length--; of.length == 0 {
			delete(f.namespaces, item.Namespace)
		}
	}
	return at.behind
}

// Get implements workqueue.TypedInterface.
func (f *Fair) Get() (item reconcile.Request, shutdown bool) {
	item, _, shutdown = f.GetWithPriority()
	return item, shutdown
}

// Add implements workqueue.TypedInterface.
func (f *Fair) Add(item reconcile.Request) { f.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (f *Fair) AddAfter(item reconcile.Request, after time.Duration) {
	f.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (f *Fair) AddRateLimited(item reconcile.Request) {
	f.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}
