package webhook

import (
	"context"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Validator returns what is wrong with an object that is about to be created or changed, field by field.
type Validator[T client.Object] func(ctx context.Context, object T, about *Admission[T]) field.ErrorList

// DeletionValidator returns why an object must not be deleted now, nil if it may.
type DeletionValidator[T client.Object] func(ctx context.Context, object T, about *Admission[T]) error

// Admission is what is known of a request beside its object.
type Admission[T client.Object] struct {
	// Old is the object as it is, when it is to be changed. Created reports whether there is none, as it
	// is to be created.
	Old     T
	Created bool
	// User is who asks.
	User authenticationv1.UserInfo
	// DryRun: nothing will be stored.
	DryRun bool

	warnings []string
}

// Warn tells the user something that is no reason to refuse: kubectl shows it. Keep it below 120
// characters, which is what API servers let through.
func (a *Admission[T]) Warn(text string) {
	if !slices.Contains(a.warnings, text) {
		a.warnings = append(a.warnings, text)
	}
}
