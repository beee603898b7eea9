package webhook

import (
	"context"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Validator returns the errors of an object that is about to be created or changed, field by field.
type Validator[T client.Object] func(ctx context.Context, object T, about *Admission[T]) field.ErrorList

// DeletionValidator returns why an object must not be deleted now, or nil if it may be deleted.
type DeletionValidator[T client.Object] func(ctx context.Context, object T, about *Admission[T]) error

// Admission is the data of a request other than its object.
type Admission[T client.Object] struct {
	// Old is the stored object if it is about to be changed. Created reports that there is none, because the
	// object is about to be created.
	Old     T
	Created bool
	// User is the user that sent the request.
	User authenticationv1.UserInfo
	// DryRun means that nothing will be stored.
	DryRun bool

	warnings []string
}

// Warn sends the user a warning that is not a reason to refuse the request: kubectl prints it. Keep it below 120
// characters, the limit of API servers.
func (a *Admission[T]) Warn(text string) {
	if !slices.Contains(a.warnings, text) {
		a.warnings = append(a.warnings, text)
	}
}
