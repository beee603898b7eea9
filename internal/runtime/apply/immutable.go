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

// ImmutableError reports that a child cannot be changed to its composed state.
type ImmutableError struct {
	ID plan.ID
	// Fields are the fields that the API server names.
	Fields string
	// Err is the error of the API server.
	Err error
}

func (e *ImmutableError) Error() string {
	return fmt.Sprintf("%s cannot be changed: %v; with operon.Replace it would be deleted and recreated", e.Fields, e.Err)
}

func (e *ImmutableError) Unwrap() error { return e.Err }

// refused decides what the rejection of a change means. The API server has many messages for immutable fields, and uses the
// same messages for invalid values. But it accepts a forbidden change as a new object. Therefore a dry run of a creation is
// sent: it fails only because of the name.
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

// fieldsOf returns the fields that a rejection names.
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
