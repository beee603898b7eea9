// Package trigger is the closed set of reasons to reconcile an object: an event of the object itself, of a child or
// of something that it read, a timer, or the start of the operator.
//
// A work queue knows only that an object is to be looked at. A Cause says why, in one kind
// out of a fixed list, so that metrics can count by it, and in words, so that a person can
// read it. It is pure data: who queues an object makes one, and who reconciles it tells it.
package trigger

import (
	"strings"
	"time"
)

// Kind is which reason it is. The set is closed; a kind is fit for a metric's label.
type Kind string

// The kinds. Of children and what was read, an event names the other object; a timer names
// none.
const (
	// OperatorStarted: the object was there when the operator started.
	OperatorStarted Kind = "operator-started"
	// Created: the object was created.
	Created Kind = "created"
	// SpecChanged: the object's generation changed.
	SpecChanged Kind = "spec-changed"
	// MetadataChanged: labels, annotations, finalizers or owner references changed.
	MetadataChanged Kind = "metadata-changed"
	// StatusChanged: nothing but the object's status changed, as by a reconcile's report.
	StatusChanged Kind = "status-changed"
	// DeletionRequested: the object has got a deletion timestamp.
	DeletionRequested Kind = "deletion-requested"
	// Deleted: the object is gone.
	Deleted Kind = "deleted"
	// Resynced: the cache told everything again, with nothing changed.
	Resynced Kind = "resynced"

	// ChildAppeared: a child was created, or seen for the first time.
	ChildAppeared Kind = "child-appeared"
	// ChildChanged: a child changed.
	ChildChanged Kind = "child-changed"
	// ChildGone: a child was deleted.
	ChildGone Kind = "child-gone"
	// ReadAppeared: something was created that the object's reconcile would have read.
	ReadAppeared Kind = "read-appeared"
	// ReadChanged: something changed that was read.
	ReadChanged Kind = "read-changed"
	// ReadGone: something was deleted that was read.
	ReadGone Kind = "read-gone"

	// RetryAfterError: the reconcile before ended in an error that time may cure.
	RetryAfterError Kind = "retry-after-error"
	// SlowRetry: the object is stalled, and somebody may have mended the reason elsewhere.
	SlowRetry Kind = "slow-retry"
	// StatusHeld: news of the status was held back and is due.
	StatusHeld Kind = "status-held"
	// Delayed: the object was reconciled too often, and its turn has come.
	Delayed Kind = "delayed"
	// Timer: a reconcile asked to be run again after a while.
	Timer Kind = "timer"

	// External: the author's program asked for it.
	External Kind = "external"

	// Unknown: something else put the object into the queue.
	Unknown Kind = "unknown"
)

// text is what kinds are called in a sentence that begins with them.
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

// Kinds returns all kinds there are.
func Kinds() []Kind {
	return []Kind{
		OperatorStarted, Created, SpecChanged, MetadataChanged, StatusChanged, DeletionRequested, Deleted, Resynced,
		ChildAppeared, ChildChanged, ChildGone, ReadAppeared, ReadChanged, ReadGone,
		RetryAfterError, SlowRetry, StatusHeld, Delayed, Timer, External, Unknown,
	}
}

// Object is what an event was about, unless it was about the reconciled object itself.
type Object struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String is "Deployment web", as people say it, and empty for no object.
func (o Object) String() string { return strings.TrimSpace(o.Kind + " " + o.Name) }

// Cause is one reason for which an object was queued.
type Cause struct {
	Kind   Kind   `json:"kind"`
	Object Object `json:"object,omitzero"`
	// Note is a clause that says more, such as the error that is tried again. It is text of
	// conditions and never a value of a field.
	Note string `json:"note,omitempty"`
	// At is when it happened; of several equal ones, the last.
	At time.Time `json:"at,omitzero"`
	// Times is how often it happened, 0 meaning once.
	Times int `json:"times,omitempty"`
}

// Same reports whether two causes say the same of the same object.
func (c Cause) Same(other Cause) bool {
	return c.Kind == other.Kind && c.Object == other.Object && c.Note == other.Note
}

// String is the cause in words, such as "Deployment web changed: its spec".
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
