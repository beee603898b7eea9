package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// Reasons of the Ready condition when a reconcile failed.
const (
	// ReasonPermissionDenied: the operator's identity lacks a permission.
	ReasonPermissionDenied = "PermissionDenied"
	// ReasonChildRefused: the API server rejects a child as invalid.
	ReasonChildRefused = "ChildRefused"
	// ReasonChildTooLarge: a child is larger than the API server accepts.
	ReasonChildTooLarge = "ChildTooLarge"
	// ReasonImmutableField: an immutable field of a child would have to change.
	ReasonImmutableField = "ImmutableField"
	// ReasonNamespaceMissing: the namespace of a child does not exist.
	ReasonNamespaceMissing = "NamespaceMissing"
	// ReasonKindMissing: the cluster does not have the kind of a child.
	ReasonKindMissing = "KindMissing"
	// ReasonInvalidChild: a composed object is not a valid child.
	ReasonInvalidChild = "InvalidChild"
	// ReasonDuplicateChild: two children were composed under one name.
	ReasonDuplicateChild = "DuplicateChild"
	// ReasonDependencyCycle: children wait for each other.
	ReasonDependencyCycle = "DependencyCycle"
	// ReasonDependencyMissing: a child has to come after one that is not composed.
	ReasonDependencyMissing = "DependencyMissing"
	// ReasonUnboundedRead: the author's code lists a kind without selecting.
	ReasonUnboundedRead = "UnboundedRead"
	// ReasonConflict: an object with the name of a child belongs to another manager.
	ReasonConflict = "Conflict"
	// ReasonInvalidExternal: a declaration of, or statement about, a resource outside the cluster is invalid.
	ReasonInvalidExternal = "InvalidExternal"
	// ReasonExternalRecord: the record of the resources outside the cluster cannot be used.
	ReasonExternalRecord = "ExternalRecord"
	// ReasonPanicked: the author's code panicked.
	ReasonPanicked = "Panicked"
	// ReasonTerminalError: the author's code returned controller-runtime's reconcile.TerminalError.
	ReasonTerminalError = "TerminalError"
	// ReasonChildChanged: an object that a child was declared from has changed since it was read.
	ReasonChildChanged = "ChildChanged"
	// ReasonFailed: any other error; it may be temporary.
	ReasonFailed = "ReconcileFailed"
)

// explain converts an error to an outcome: if others may fix the cause at any time, it is retried soon and then at growing
// intervals; if only a user can fix it, at slowRetry.
func explain(err error) outcome.Outcome {
	if reason := terminal(err); reason != "" {
		return outcome.Stalled(reason, err.Error())
	}
	if reason := cmp.Or(workMistake(err), mistake(err)); reason != "" && !is[*TimeoutError](err) {
		return again(outcome.Stalled(reason, err.Error()))
	}
	switch {
	case is[*TimeoutError](err):
		return outcome.Retry(0, ReasonTimedOut, err.Error())
	case is[*apply.ChangedError](err):
		return outcome.Retry(0, ReasonChildChanged, err.Error())
	case is[*resourceclient.MissingKindError](err):
		return outcome.Retry(0, ReasonKindMissing, err.Error())
	case isMissingNamespace(err):
		return outcome.Retry(0, ReasonNamespaceMissing, err.Error())
	case apierrors.IsForbidden(err) && !isTerminating(err):
		return outcome.Retry(0, ReasonPermissionDenied, err.Error())
	}
	return outcome.Retry(0, ReasonFailed, err.Error())
}

// terminal returns the reason of an error that the author's code calls terminal: it is not retried before something
// changes. It is empty for other errors.
func terminal(err error) string {
	if final, ok := errors.AsType[*author.TerminalError](err); ok {
		return final.Reason
	}
	if errors.Is(err, reconcile.TerminalError(nil)) {
		return ReasonTerminalError
	}
	return ""
}

// mistake returns the reason of an error that a user has to fix: in the spec, in the
// operator's code, or in an object that is in the way. It is empty for other errors.
func mistake(err error) string {
	switch {
	case is[*apply.ConflictError](err):
		return ReasonConflict
	case is[*panicError](err):
		return ReasonPanicked
	case is[*apply.ImmutableError](err):
		return ReasonImmutableField
	case is[*apply.InvalidError](err):
		return ReasonInvalidChild
	case is[*author.InvalidExternalError](err):
		return ReasonInvalidExternal
	case is[*external.RecordError](err):
		return ReasonExternalRecord
	case is[*DuplicateError](err):
		return ReasonDuplicateChild
	case is[*watches.UnboundedError](err):
		return ReasonUnboundedRead
	case is[*plan.CycleError](err):
		return ReasonDependencyCycle
	case is[*plan.MissingError](err):
		return ReasonDependencyMissing
	case is[*StatusError](err):
		return ReasonStatusRefused
	case isTooLarge(err):
		return ReasonChildTooLarge
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || isAgainstSchema(err):
		return ReasonChildRefused
	}
	return ""
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// isTooLarge reports whether a request exceeds the limit of the API server, or an object the limit of etcd.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcdserver: request is too large")
}

// isAgainstSchema reports whether a field does not exist in its kind, or has a value of the wrong type. The API server
// reports its failure to read such an apply as an internal error.
func isAgainstSchema(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed to create typed patch object")
}

// isMissingNamespace reports whether a namespace was not found. For an apply, nothing else can be missing.
func isMissingNamespace(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsNotFound(err) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// again adds slow retries to a stalled outcome.
func again(stalled outcome.Outcome) outcome.Outcome {
	return outcome.Combine(stalled, outcome.Retry(timing.slowRetry, "", ""))
}

// isTerminating reports whether a namespace is being deleted. Such a namespace rejects new objects with the same status as a
// missing permission.
func isTerminating(err error) bool {
	return apierrors.HasStatusCause(err, "NamespaceTerminating")
}

// panicError is a panic of the author's code.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("the operator's code panicked: %v", e.value) }
