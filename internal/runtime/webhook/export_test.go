package webhook

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AllowsUpdate reports whether a validator's webhook admits an update.
func AllowsUpdate[T client.Object](t *testing.T, validator Validator[T], old, object T) bool {
	t.Helper()
	_, err := validating[T]{changes: validator}.ValidateUpdate(t.Context(), old, object)
	return err == nil
}
