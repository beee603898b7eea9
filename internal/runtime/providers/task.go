package providers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// Kind is how resources of one kind are reached.
type Kind struct {
	// Name is the one that the author gave it.
	Name  string
	Calls external.Calls
	external.Settings
}

// Declared is a resource that should exist.
type Declared struct {
	Ref external.Ref
	// Desired is the provider's own type.
	Desired any
	external.Wish
}

// Task is one reconcile's work.
type Task struct {
	Owner    types.NamespacedName
	UID      types.UID
	Kinds    map[string]Kind
	Declared []Declared
	// Policy is what a user says of all.
	Policy external.Policy
	// Said is what a person says of creations that nobody else knows of.
	Said map[external.Ref]string
	// Record is what was read; it is changed.
	Record *external.Record
	// Write writes the record, and must fail where another one than was read, or last written, is
	// there.
	Write func(ctx context.Context, record *external.Record) error
	// Rehearse: nothing is made, changed, deleted or recorded.
	Rehearse bool
}

// Result is what a task came to.
type Result struct {
	// Outcome is that of all resources together.
	Outcome outcome.Outcome
	// Unknown: of some resource nothing is known, so that nothing can be composed.
	Unknown bool
	// Known is what is known, by kind and ordered by name.
	Known map[string][]external.Known[any]
	// Deeds are what was done, or would be, in order.
	Deeds []Deed
	// CallErr is what went wrong of calls, joined; the outcome tells of it. WriteErr is what went wrong
	// when the record was written, and is in no outcome.
	CallErr, WriteErr error
}

// Deed is something that was done for a resource.
type Deed struct {
	Verb external.Verb
	Ref  external.Ref
	ID   string
	Why  string
	// Err: it was tried.
	Err error
}
