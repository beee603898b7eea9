package main

import (
	"context"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/prove"
)

// Whatever goes wrong, the operator comes to the same end, also of the backup that is asked for in
// config/prove. That is no sample: what an Action that is over came to cannot be the same as of a new one,
// for whatever is changed of it. `operon prove --setup config/prove` does the same, at greater length, with
// the program itself.
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
