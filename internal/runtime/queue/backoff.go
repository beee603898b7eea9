package queue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// backoff is an exponential backoff of retries for each item. Unlike that of client-go, it doubles the delay only after a retry
// that was due. A reconcile that an event triggered earlier, and that fails, too, keeps the time of the planned retry: a few
// events during an outage of a second would otherwise delay the retry by ten seconds.
type backoff[T comparable] struct {
	first, last time.Duration
	clock       clock.PassiveClock

	mu    sync.Mutex
	items map[T]*planned
}

// planned is the next retry of an item.
type planned struct {
	at       time.Time
	delay    time.Duration
	failures int
}

// NewBackoff returns a limiter whose retries are delayed by first, and then by twice the delay before, up to last.
func NewBackoff[T comparable](first, last time.Duration, clock clock.PassiveClock) workqueue.TypedRateLimiter[T] {
	return &backoff[T]{first: first, last: last, clock: clock, items: map[T]*planned{}}
}

// When implements workqueue.TypedRateLimiter.
func (b *backoff[T]) When(item T) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := b.items[item]
	if next == nil {
		next = &planned{}
		b.items[item] = next
	}
	next.failures++
	now := b.clock.Now()
	if left := next.at.Sub(now); left > 0 {
		return left
	}
	next.delay = min(max(2*next.delay, b.first), b.last)
	next.at = now.Add(next.delay)
	return next.delay
}

// Forget implements workqueue.TypedRateLimiter.
func (b *backoff[T]) Forget(item T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.items, item)
}

// NumRequeues implements workqueue.TypedRateLimiter.
func (b *backoff[T]) NumRequeues(item T) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if next := b.items[item]; next != nil {
		return next.failures
	}
	return 0
}
