package queue

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/trigger"
)

// Triggers are the reasons for which objects wait in the work queue, which itself holds only
// names. What is held for an object is dropped at its next reconcile, so that memory follows
// the length of the queue. The zero value is ready for use.
type Triggers struct {
	mu     sync.Mutex
	queued map[types.NamespacedName]*queued
}

// queued holds the reasons why one object waits.
type queued struct {
	events trigger.Gathered
	// timer is the reason for which the last reconcile requested a requeue, at due. If the rate limiter
	// of the queue decides the time, due is zero.
	timer *trigger.Cause
	due   time.Time
}

func (t *Triggers) of(key types.NamespacedName) *queued {
	if t.queued == nil {
		t.queued = map[types.NamespacedName]*queued{}
	}
	if t.queued[key] == nil {
		t.queued[key] = &queued{}
	}
	return t.queued[key]
}

// Add records an event, before the object is queued for it.
func (t *Triggers) Add(key types.NamespacedName, why trigger.Cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(key).events.Add(why)
}

// PutBack returns the triggers that were taken for a reconcile that did nothing.
func (t *Triggers) PutBack(key types.NamespacedName, taken trigger.Gathered) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(key).events.Join(taken)
}

// Schedule records that the object is requeued at a time, or by the rate limiter if due is zero.
func (t *Triggers) Schedule(key types.NamespacedName, why trigger.Cause, due time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.of(key)
	q.timer, q.due = &why, due
}

// Take returns the triggers of a reconcile that begins now. An event that comes first replaces a
// timer, because the queue holds each object once.
func (t *Triggers) Take(key types.NamespacedName, now time.Time) trigger.Gathered {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queued[key]
	delete(t.queued, key)
	if q == nil {
		q = &queued{}
	}
	due := !q.due.IsZero() && !now.Before(q.due)
	if q.timer != nil && (due || len(q.events.Causes) == 0) {
		q.timer.At = now
		q.events.Add(*q.timer)
	}
	if len(q.events.Causes) == 0 {
		q.events.Add(trigger.Cause{Kind: trigger.Unknown, At: now})
	}
	return q.events
}

// changeOf returns what changed of an object.
func changeOf(before, after client.Object) trigger.Kind {
	switch {
	case before.GetResourceVersion() == after.GetResourceVersion():
		return trigger.Resynced
	case before.GetUID() != after.GetUID():
		return trigger.Created // deleted and created again, which the watch reported as one event
	case before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil:
		return trigger.DeletionRequested
	case before.GetGeneration() != after.GetGeneration():
		return trigger.SpecChanged
	case !reflect.DeepEqual(metadataOf(before), metadataOf(after)):
		return trigger.MetadataChanged
	}
	return trigger.StatusChanged
}

// metadataOf returns the part of an object's metadata that users and controllers change.
func metadataOf(o client.Object) []any {
	return []any{o.GetLabels(), o.GetAnnotations(), o.GetFinalizers(), o.GetOwnerReferences()}
}
