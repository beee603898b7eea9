package providers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// Kind is the access to resources of one kind.
type Kind struct {
	// Name is the name that the author gave it.
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
	// Policy is the user's policy for all resources.
	Policy external.Policy
	// Said is what a user states about creations whose result is not known otherwise.
	Said map[external.Ref]string
	// Record is the record that was read. It is changed.
	Record *external.Record
	// Write writes the record. It must fail if the stored record is not the one that was read or last
	// written.
	Write func(ctx context.Context, record *external.Record) error
	// Confirm returns an error unless the owner is still as it was read. It is called once, before the first change or deletion of a resource:
	// a cached owner may be gone, and another one may have taken over what it had. Nil means that the owner is as it was read.
	Confirm func(context.Context) error
	// Rehearse means that nothing is created, changed, deleted or recorded.
	Rehearse bool
}

// Result is the result of a task.
type Result struct {
	// Outcome is the combined outcome of all resources.
	Outcome outcome.Outcome
	// Unknown means that nothing is known of some resource, so that nothing can be composed.
	Unknown bool
	// Known is what is known, by kind and ordered by name.
	Known map[string][]external.Known[any]
	// Deeds are the operations that were done, or would be done, in order.
	Deeds []Deed
	// CallErr holds the errors of calls, joined; the outcome reports them. WriteErr is the error
	// of writing the record, and is in no outcome.
	CallErr, WriteErr error
}

// Deed is an operation on a resource.
type Deed struct {
	Verb external.Verb
	Ref  external.Ref
	ID   string
	Why  string
	// Err is the error of an operation that was attempted.
	Err error
}
