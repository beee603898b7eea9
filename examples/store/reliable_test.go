package main

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/prove"
)

// Whatever goes wrong, the operator comes to the same end. `operon prove` does the same, at
// greater length, with the program itself.
func TestReliable(t *testing.T) {
	t.Parallel()
	address, _ := serveAt(t, "127.0.0.1:0")
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples", RBAC: "config/rbac",
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			return runOperator(ctx, config, namespace, t.TempDir(), address)
		},
	})
}
