package providers_test

import (
	"testing"

	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// fixture is a namespace of a real cluster in which a test runs operators.
type fixture struct{ *boxtest.Fixture }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{boxtest.New(t)}
}
