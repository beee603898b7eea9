package webhook

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Role is the type of question that a hook answers.
type Role string

// The roles.
const (
	Default          Role = "default"
	Validate         Role = "validate"
	ValidateDeletion Role = "validate-deletion"
)

// Hook answers one question about the objects of one kind.
type Hook struct {
	Role    Role
	Kind    schema.GroupVersionKind
	Handler http.Handler
	Options
}

// Options configure the requests of API servers. With the zero value, requests fail while no replica answers, after ten
// seconds at most.
type Options struct {
	// FailOpen admits requests unchecked while no replica answers.
	FailOpen bool
	// Timeout is how long the API server waits, in whole seconds from 1 to 30. Zero means 10 s.
	Timeout time.Duration
	// Conditions are CEL expressions that all have to hold for the API server to send a request.
	Conditions []admissionv1.MatchCondition
}

// Check rejects options that an API server would reject, with a clearer message.
func (o Options) Check() error {
	if o.Timeout != 0 && (o.Timeout < time.Second || o.Timeout > 30*time.Second || o.Timeout%time.Second != 0) {
		return fmt.Errorf("a timeout of %s: API servers take whole seconds from 1 to 30", o.Timeout)
	}
	return nil
}

// path returns the path of a hook. It contains the role and the kind, and so logs do too.
func (h Hook) path() string {
	return strings.ToLower(fmt.Sprintf("/%s/%s/%s/%s", h.Role, groupOf(h.Kind.Group), h.Kind.Version, h.Kind.Kind))
}

func groupOf(group string) string {
	if group == "" {
		return "core"
	}
	return group
}

// Defaulting returns a hook that sets defaults.
func Defaulting[T client.Object](scheme *runtime.Scheme, kind schema.GroupVersionKind, defaulter admission.Defaulter[T], options Options) Hook {
	return Hook{Role: Default, Kind: kind, Handler: admission.WithDefaulter(scheme, defaulter), Options: options}
}

// Validating returns a hook that validates objects.
func Validating[T client.Object](scheme *runtime.Scheme, kind schema.GroupVersionKind, validator Validator[T], options Options) Hook {
	handler := admission.WithValidator(scheme, validating[T]{kind: kind.GroupKind(), changes: validator})
	return Hook{Role: Validate, Kind: kind, Handler: handler, Options: options}
}

// ValidatingDeletion returns a hook that validates deletions.
func ValidatingDeletion[T client.Object](scheme *runtime.Scheme, kind schema.GroupVersionKind, validator DeletionValidator[T], options Options) Hook {
	handler := admission.WithValidator(scheme, validating[T]{kind: kind.GroupKind(), deletions: validator})
	return Hook{Role: ValidateDeletion, Kind: kind, Handler: handler, Options: options}
}

// validating is controller-runtime's validator, made from a role.
type validating[T client.Object] struct {
	kind      schema.GroupKind
	changes   Validator[T]
	deletions DeletionValidator[T]
}

// ValidateCreate implements admission.Validator.
func (v validating[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	about := v.about(ctx)
	about.Created = true
	return v.judge(ctx, object, about)
}

// ValidateUpdate implements admission.Validator.
func (v validating[T]) ValidateUpdate(ctx context.Context, old, object T) (admission.Warnings, error) {
	if object.GetDeletionTimestamp() != nil && sameSpec(old, object) {
		return nil, nil
	}
	about := v.about(ctx)
	about.Old = old
	return v.judge(ctx, object, about)
}

// sameSpec reports whether two objects have the same spec.
func sameSpec(a, b runtime.Object) bool {
	one, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	other, failed := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	return err == nil && failed == nil && equality.Semantic.DeepEqual(one["spec"], other["spec"])
}

// ValidateDelete implements admission.Validator.
func (v validating[T]) ValidateDelete(ctx context.Context, object T) (admission.Warnings, error) {
	if v.deletions == nil || object.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	about := v.about(ctx)
	about.Old = object
	err := v.deletions(ctx, object, about)
	return about.warnings, err
}

func (v validating[T]) judge(ctx context.Context, object T, about *Admission[T]) (admission.Warnings, error) {
	if v.changes == nil {
		return nil, nil
	}
	if wrong := v.changes(ctx, object, about); len(wrong) > 0 {
		return about.warnings, apierrors.NewInvalid(v.kind, object.GetName(), wrong)
	}
	return about.warnings, nil
}

func (v validating[T]) about(ctx context.Context) *Admission[T] {
	about := &Admission[T]{}
	if request, err := admission.RequestFromContext(ctx); err == nil {
		about.User = request.UserInfo
		about.DryRun = request.DryRun != nil && *request.DryRun
	}
	return about
}
