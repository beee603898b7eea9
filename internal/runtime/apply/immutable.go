package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
)

// ImmutableError reports that a child cannot be changed as it is composed.
type ImmutableError struct {
	ID plan.ID
	// Fields are those that the API server names.
	Fields string
	// Err is the API server's answer.
	Err error
}

func (e *ImmutableError) Error() string {
	return fmt.Sprintf("%s cannot be changed: %v; with operon.Replace it would be deleted and recreated", e.Fields, e.Err)
}

func (e *ImmutableError) Unwrap() error { return e.Err }

// refused decides what a refusal of a change means. The API server says in many ways that a
// field is immutable, and in the same ways that a value is wrong; but it takes what is only
// a forbidden change for a new object. So it is asked: a dry run of a creation fails for the
// name alone.
func (a *Applier) refused(ctx context.Context, action plan.Action, refusal error) (plan.Action, error) {
	err := a.Client.Create(ctx, action.Desired.DeepCopy(), client.DryRunAll, client.FieldOwner(a.Manager))
	if !apierrors.IsAlreadyExists(err) {
		return action, refusal
	}
	next := plan.Refused(action, fieldsOf(refusal))
	if next.Verb == plan.Replace {
		return next, a.replace(ctx, next)
	}
	return next, &ImmutableError{ID: action.ID(), Fields: fieldsOf(refusal), Err: refusal}
}

// fieldsOf are the fields that a refusal names.
func fieldsOf(refusal error) string {
	var status apierrors.APIStatus
	if !errors.As(refusal, &status) || status.Status().Details == nil {
		return "a field"
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Field != "" && !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	if len(fields) == 0 {
		return "a field"
	}
	return strings.Join(fields, ", ")
}
