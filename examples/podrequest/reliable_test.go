package main

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/prove"

	"github.com/operon-framework/operon/examples/podrequest/api/v1alpha1"
)

// Regardless of the injected faults, the operator converges to the same state. `operon prove` tests the same more thoroughly,
// with the program itself.
func TestReliable(t *testing.T) {
	t.Parallel()
	prove.Run(t, prove.Test{
		CRDs: "config/crd", Samples: "config/samples", RBAC: "config/rbac",
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			return operon.Run(ctx, "pod-operator", config, operon.Config{Namespace: namespace},
				operon.API(v1alpha1.AddToScheme), operon.Manage(PodRequest{}))
		},
	})
}
