package main

import (
	"testing"

	"github.com/operon-framework/operon/operontest"

	"github.com/operon-framework/operon/examples/vmgroup/api/v1alpha1"
)

// Without the Secret, no machine is created, and the status states what the group is waiting for.
func TestWithoutCredentials(t *testing.T) {
	t.Parallel()
	operontest.New(VMGroups{}, v1alpha1.AddToScheme).CRDs("config/crd").Run(t, operontest.Case[*v1alpha1.VMGroup]{
		Object: operontest.Sample[*v1alpha1.VMGroup](t, "config/samples/vmgroup.yaml", func(g *v1alpha1.VMGroup) { g.Spec.Credentials = "vc-creds" }),
		Reads:  []string{"Secret vc-creds"},
		Expect: operontest.Expect[*v1alpha1.VMGroup]{
			Writes:     []string{"status VMGroup example"},
			Conditions: []string{"Ready=False CredentialsMissing"},
		},
	})
}
