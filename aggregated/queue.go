package aggregated

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pending is how many changes wait for a client that has begun, before it is too slow: ten times what
// Kubernetes' own API servers keep for one at first.
const pending = 1000

// errSlow has clients list again.
var errSlow = apierrors.NewResourceExpired("the client reads changes too slowly")

// change is a change that a Watcher reported.
type change[T client.Object] struct {
	object T
	gone   bool
}

// queue keeps the changes that a client has to hear of. It implements Listener.
type queue[T client.Object] struct {
	mu      sync.Mutex
	changes []change[T]
	limit   int // how many there may be. 0: any number
	ended   bool
	reason  error         // of the end, if there is one
	news    chan struct{} // of capacity 1
}

func newQueue[T client.Object]() *queue[T] { return &queue[T]{news: make(chan struct{}, 1)} }

// Changed implements Listener.
func (q *queue[T]) Changed(object T) { q.put(change[T]{object: object}) }

// Gone implements Listener.
func (q *queue[T]) Gone(object T) { q.put(change[T]{object, true}) }

// Ended implements Listener.
func (q *queue[T]) Ended(reason error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end(reason)
}

func (q *queue[T]) put(one change[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	if q.limit > 0 && len(q.changes) == q.limit {
		q.changes = nil
		q.end(errSlow)
		return
	}
	q.changes = append(q.changes, one)
	q.tell()
}

// end ends the queue. The lock is held.
func (q *queue[T]) end(reason error) {
	if q.ended {
		return
	}
	q.ended, q.reason = true, reason
	q.tell()
}

// tell wakes the reader of the queue. The lock is held.
func (q *queue[T]) tell() {
	select {
	case q.news <- struct{}{}:
	default: // they are about to look
	}
}

// bound allows for as many changes as there are, and pending more.
func (q *queue[T]) bound() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = len(q.changes) + pending
}

// take waits for changes, or for the end of all.
func (q *queue[T]) take(ctx context.Context) (changes []change[T], ended bool, reason error) {
	select {
	case <-ctx.Done():
		return nil, true, nil
	case <-q.news:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	changes, q.changes = q.changes, nil
	return changes, q.ended, q.reason
}
