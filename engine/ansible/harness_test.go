package ansible_test

import (
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible"
	"github.com/operon-framework/operon/internal/testing/enginetest"
	"github.com/operon-framework/operon/internal/testing/testaid"
)

// market is the operator of the project testdata/stall.
type market struct{ *enginetest.Operator }

var stallKind = schema.GroupVersionKind{Group: "market.example.com", Version: "v1", Kind: "Stall"}

func newMarket(t *testing.T) *market {
	t.Helper()
	return newMarketWith(t, func() *ansible.Engine { return &ansible.Engine{ShowOutput: os.Getenv("ANSIBLE_DEBUG_LOGS") != ""} })
}

func newMarketWith(t *testing.T, create func() *ansible.Engine) *market {
	t.Helper()
	testaid.NeedsAnsible(t)
	return &market{enginetest.New(t, "testdata/stall", stallKind, func() []engine.Engine { return []engine.Engine{create()} })}
}
