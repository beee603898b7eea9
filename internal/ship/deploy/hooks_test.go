package deploy

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An error counts as an answer only if the webhooks were called, or the request was rejected before.
func TestAnsweredByWebhooks(t *testing.T) {
	t.Parallel()
	gadgets := schema.GroupResource{Group: "example.com", Resource: "gadgets"}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"it is valid":                 {nil, true},
		"it is there":                 {apierrors.NewAlreadyExists(gadgets, "a"), true},
		"a webhook denies it":         {apierrors.NewForbidden(gadgets, "a", errors.New("too large")), true},
		"a webhook denies it, badly":  {apierrors.NewInternalError(errors.New(`admission webhook "check.example.com" denied the request: no`)), true},
		"its namespace is missing":    {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), true},
		"a webhook is not reached":    {apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		"the server is busy":          {apierrors.NewTooManyRequests("later", 1), false},
		"the kind is not served yet":  {&meta.NoKindMatchError{}, false},
		"there is no time left":       {fmt.Errorf("create: %w", context.DeadlineExceeded), false},
		"the connection is no longer": {errors.New("EOF"), false},
	} {
		if got := answered(test.err); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A request that is rejected before webhooks are called shows nothing about them.
func TestBypassesWebhooks(t *testing.T) {
	t.Parallel()
	gadgets := schema.GroupResource{Group: "example.com", Resource: "gadgets"}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"it is valid":                 {nil, false},
		"it is not permitted":         {apierrors.NewForbidden(gadgets, "a", errors.New(`User "me" cannot create resource "gadgets"`)), true},
		"a webhook denies it":         {apierrors.NewForbidden(gadgets, "a", errors.New(`admission webhook "check.example.com" denied the request: too large`)), false},
		"its namespace is missing":    {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), true},
		"something else is not found": {apierrors.NewNotFound(gadgets, "a"), false},
	} {
		if got := bypasses(test.err); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
