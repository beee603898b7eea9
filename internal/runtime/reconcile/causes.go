package reconcile

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	watched "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/trigger"
)

// causes are the reasons for which objects wait in the queue, which itself holds only
// names. What is held of an object ends with its next reconcile, so that memory follows
// the length of the queue.
type causes struct {
	mu     sync.Mutex
	queued map[types.NamespacedName]*queued
}

// queued is why one object waits.
type queued struct {
	events trigger.Gathered
	// timer is what the last reconcile asked to come back for, at due. Where the rate limiter
	// of the queue decides when that is, due is zero.
	timer *trigger.Cause
	due   time.Time
}

func (c *causes) of(key types.NamespacedName) *queued {
	if c.queued == nil {
		c.queued = map[types.NamespacedName]*queued{}
	}
	if c.queued[key] == nil {
		c.queued[key] = &queued{}
	}
	return c.queued[key]
}

// add notes an event, before the object is queued for it.
func (c *causes) add(key types.NamespacedName, why trigger.Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(key).events.Add(why)
}

// putBack gives back what was taken for a pass that came to nothing.
func (c *causes) putBack(key types.NamespacedName, taken trigger.Gathered) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(key).events.Join(taken)
}

// schedule notes that the object comes back by itself.
func (c *causes) schedule(key types.NamespacedName, why trigger.Cause, due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.of(key)
	q.timer, q.due = &why, due
}

// take returns what a reconcile that begins now is for. An event that comes first takes a
// timer's place, as the queue holds each object once.
func (c *causes) take(key types.NamespacedName, now time.Time) trigger.Gathered {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queued[key]
	delete(c.queued, key)
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

// Note notes why an object is queued, before it is.
func (r *Reconciler[T]) Note(key types.NamespacedName, why trigger.Cause) { r.causes.add(key, why) }

// Noting lets all events of the managed objects pass, and notes them as causes.
func (r *Reconciler[T]) Noting() predicate.Predicate {
	note := func(o client.Object, kind trigger.Kind) bool {
		r.causes.add(client.ObjectKeyFromObject(o), trigger.Cause{Kind: kind, At: time.Now()})
		return true
	}
	return predicate.Funcs{
		CreateFunc: func(e watched.CreateEvent) bool {
			if e.IsInInitialList {
				return note(e.Object, trigger.OperatorStarted)
			}
			return note(e.Object, trigger.Created)
		},
		UpdateFunc: func(e watched.UpdateEvent) bool { return note(e.ObjectNew, changeOf(e.ObjectOld, e.ObjectNew)) },
		DeleteFunc: func(e watched.DeleteEvent) bool { return note(e.Object, trigger.Deleted) },
	}
}

// changeOf tells what changed of an object.
func changeOf(before, after client.Object) trigger.Kind {
	switch {
	case before.GetResourceVersion() == after.GetResourceVersion():
		return trigger.Resynced
	case before.GetUID() != after.GetUID():
		return trigger.Created // deleted and created again, which the watch told as one
	case before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil:
		return trigger.DeletionRequested
	case before.GetGeneration() != after.GetGeneration():
		return trigger.SpecChanged
	case !reflect.DeepEqual(metadataOf(before), metadataOf(after)):
		return trigger.MetadataChanged
	}
	return trigger.StatusChanged
}

// metadataOf is what people and controllers change of an object's metadata.
func metadataOf(o client.Object) []any {
	return []any{o.GetLabels(), o.GetAnnotations(), o.GetFinalizers(), o.GetOwnerReferences()}
}

// timer is the cause of a reconcile after a while, by the outcome that asked for it.
func (p *pass[T]) timer(after time.Duration) trigger.Cause {
	whole := p.outcome()
	held := func(o outcome.Outcome) bool {
		return o.Reason() == "" && o.Kind() == outcome.KindRetry && o.After() == after
	}
	switch {
	case p.delayed():
		return trigger.Cause{Kind: trigger.Delayed}
	case slices.ContainsFunc(p.outcomes, held):
		return trigger.Cause{Kind: trigger.StatusHeld}
	case whole.Kind() == outcome.KindStalled:
		return trigger.Cause{Kind: trigger.SlowRetry, Note: whole.Reason()}
	}
	return trigger.Cause{Kind: trigger.Timer, Note: whole.Reason()}
}
