package main

import (
	"context"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/prove"
)

// Regardless of the injected faults, the operator converges to the same state, including the backup that is requested in
// config/prove. The backup is not a sample: if a sample is changed, the result of an Action that has ended cannot be the same
// as for a new one. `operon prove --setup config/prove` tests the same more thoroughly, with the program itself.
func TestReliable(t *testing.T) {
	t.Parallel()
	address, _ := serveAt(t, "127.0.0.1:0")
	backups := t.TempDir()
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples", Setup: "config/prove", RBAC: "config/rbac",
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			return runOperator(ctx, config, namespace, backups, address)
		},
	})
	if made, err := os.ReadDir(backups); err != nil || len(made) == 0 {
		t.Errorf("no run made a backup: %v", err)
	}
}
