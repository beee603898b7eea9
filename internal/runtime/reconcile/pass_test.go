package reconcile

import (
	"errors"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/core/outcome"
)

// API servers quote values in their errors, and controller-runtime logs what a reconciliation returns with each retry.
func TestReturnedErrorsAreCut(t *testing.T) {
	t.Parallel()
	cause := errors.New(strings.Repeat("x", 1<<20))
	_, err := resultOf(outcome.Retry(0, "Failed", "it failed").With(cause))
	if err == nil || len(err.Error()) > outcome.MaxMessage+64 {
		t.Errorf("an error with %d bytes", len(err.Error()))
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}
