// Package trigger is the closed set of reasons to reconcile an object: an event of the object itself, of a child or
// of something that it read, a timer, or the start of the operator.
//
// A work queue only records that an object has to be reconciled. A Cause describes the reason: as one of a fixed list
// of kinds, for metrics, and in words, for users. It is pure data: the code that queues an object creates a Cause, and
// the code that reconciles the object reports it.
package trigger

import (
	"strings"
	"time"
)

// Kind is the kind of a reason. The set is closed; a kind is suitable as a metric label.
type Kind string

// The kinds. Events of children and of objects that were read name the other object; a timer names
// none.
const (
	// OperatorStarted: the object existed when the operator started.
	OperatorStarted Kind = "operator-started"
	// Created: the object was created.
	Created Kind = "created"
	// SpecChanged: the object's generation changed.
	SpecChanged Kind = "spec-changed"
	// MetadataChanged: labels, annotations, finalizers or owner references changed.
	MetadataChanged Kind = "metadata-changed"
	// StatusChanged: only the object's status changed, for example by the report of a reconcile.
	StatusChanged Kind = "status-changed"
	// DeletionRequested: the object received a deletion timestamp.
	DeletionRequested Kind = "deletion-requested"
	// Deleted: the object was deleted.
	Deleted Kind = "deleted"
	// Resynced: the cache delivered all objects again, without a change.
	Resynced Kind = "resynced"

	// ChildAppeared: a child was created, or seen for the first time.
	ChildAppeared Kind = "child-appeared"
	// ChildChanged: a child changed.
	ChildChanged Kind = "child-changed"
	// ChildGone: a child was deleted.
	ChildGone Kind = "child-gone"
	// ReadAppeared: an object was created that the object's reconcile would have read.
	ReadAppeared Kind = "read-appeared"
	// ReadChanged: an object that was read changed.
	ReadChanged Kind = "read-changed"
	// ReadGone: an object that was read was deleted.
	ReadGone Kind = "read-gone"

	// RetryAfterError: the previous reconcile failed with an error that may be temporary.
	RetryAfterError Kind = "retry-after-error"
	// SlowRetry: the object is stalled, and the reason may have been fixed elsewhere.
	SlowRetry Kind = "slow-retry"
	// StatusHeld: a status update was held back and is due.
	StatusHeld Kind = "status-held"
	// Delayed: the object was reconciled too often, and its delay is over.
	Delayed Kind = "delayed"
	// Timer: a reconcile requested to run again after some time.
	Timer Kind = "timer"

	// External: the author's program requested it.
	External Kind = "external"

	// Unknown: something else put the object into the queue.
	Unknown Kind = "unknown"
)

// text holds the words for kinds in a sentence that begins with them.
var text = map[Kind]string{
	OperatorStarted:   "the operator started",
	Created:           "it was created",
	SpecChanged:       "its spec changed",
	MetadataChanged:   "its metadata changed",
	StatusChanged:     "its status changed",
	DeletionRequested: "its deletion was requested",
	Deleted:           "it is gone",
	Resynced:          "the cache was resynced",
	ChildAppeared:     "appeared",
	ChildChanged:      "changed",
	ChildGone:         "went away",
	ReadAppeared:      "was created, which it reads",
	ReadChanged:       "changed, which it reads",
	ReadGone:          "was deleted, which it reads",
	RetryAfterError:   "retry after an error",
	SlowRetry:         "retry while stalled",
	StatusHeld:        "its status was due",
	Delayed:           "its rate limit allows it again",
	Timer:             "a requested requeue was due",
	External:          "the operator's program requested it",
	Unknown:           "unknown trigger",
}

// Object is the object of an event, unless that is the reconciled object itself.
type Object struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String returns kind and name, such as "Deployment web", and is empty for no object.
func (o Object) String() string { return strings.TrimSpace(o.Kind + " " + o.Name) }

// Cause is one reason for which an object was queued.
type Cause struct {
	Kind   Kind   `json:"kind"`
	Object Object `json:"object,omitzero"`
	// Note is a clause with details, such as the error that is retried. It contains text of conditions and never the
	// value of a field.
	Note string `json:"note,omitempty"`
	// At is when the cause happened; of several equal causes, the last.
	At time.Time `json:"at,omitzero"`
	// Times is how often the cause happened. 0 means once.
	Times int `json:"times,omitempty"`
}

// Same reports whether two causes are equal and about the same object.
func (c Cause) Same(other Cause) bool {
	return c.Kind == other.Kind && c.Object == other.Object && c.Note == other.Note
}

// String returns the cause in words, such as "Deployment web changed: its spec".
func (c Cause) String() string {
	said := text[c.Kind]
	if c.Object != (Object{}) {
		said = c.Object.String() + " " + said
	}
	if c.Note != "" {
		said += ": " + c.Note
	}
	return said
}
