package reconcile

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/operon-framework/operon/apply"
	"github.com/operon-framework/operon/outcome"
)

// Reasons of the Ready condition when a reconcile failed.
const (
	// ReasonPermissionDenied: the operator's identity may not do what it has to.
	ReasonPermissionDenied = "PermissionDenied"
	// ReasonChildRefused: the API server finds a child invalid.
	ReasonChildRefused = "ChildRefused"
	// ReasonConflict: an object of the name of a child is somebody else's.
	ReasonConflict = "Conflict"
	// ReasonPanicked: the author's code panicked.
	ReasonPanicked = "Panicked"
	// ReasonFailed: anything else; time may cure it.
	ReasonFailed = "ReconcileFailed"
)

// slowRetry is the pace at which what only a person can mend is tried again, as the person
// may mend it somewhere that sends no event.
const slowRetry = 30 * time.Second

// explain is the rule by which an error becomes an outcome.
func explain(err error) outcome.Outcome {
	var conflict *apply.ConflictError
	var panicked *panicError
	switch {
	case errors.As(err, &conflict):
		return again(outcome.Stalled(ReasonConflict, conflict.Error()))
	case errors.As(err, &panicked):
		return again(outcome.Stalled(ReasonPanicked, panicked.Error()))
	case apierrors.IsForbidden(err) && !isTerminating(err):
		return outcome.Retry(0, ReasonPermissionDenied, err.Error())
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return again(outcome.Stalled(ReasonChildRefused, err.Error()))
	}
	return outcome.Retry(0, ReasonFailed, err.Error())
}

// again lets a stalled object be tried again slowly.
func again(stalled outcome.Outcome) outcome.Outcome {
	return outcome.Combine(stalled, outcome.Retry(slowRetry, "", ""))
}

// isTerminating: a namespace that is going away refuses new objects in the same way as a
// missing permission.
func isTerminating(err error) bool {
	return apierrors.HasStatusCause(err, "NamespaceTerminating")
}

// panicError is a panic of the author's code.
type panicError struct {
	value any
	stack []byte
}

func newPanicError(value any) *panicError {
	return &panicError{value: value, stack: debug.Stack()}
}

func (e *panicError) Error() string { return fmt.Sprintf("the operator's code panicked: %v", e.value) }
