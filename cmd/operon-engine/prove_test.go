package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible"
	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/prove"
)

// Whatever fault is injected, the operator of a Helm chart converges to the same state.
func TestChartIsReliable(t *testing.T) {
	t.Parallel()
	prove.Run(t, proof("mysqlcluster-helm", func() engine.Engine { return helm.Engine{} }))
}

// The same for the operator of an Ansible role.
func TestRoleIsReliable(t *testing.T) {
	t.Parallel()
	if said, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import ansible_collections.kubernetes.core, kubernetes").CombinedOutput(); err != nil {
		testaid.Lacks(t, "the role needs Debian's packages ansible and python3-kubernetes: %s", said)
	}
	test := proof("mysqlcluster-ansible", func() engine.Engine { return &ansible.Engine{} })
	test.Settle = 2 * time.Second // a run of the role takes longer than a reconcile
	test.Budget = time.Minute
	test.Plans = 20
	prove.Run(t, test)
}

// proof returns the test of an example without Go.
func proof(example string, create func() engine.Engine) prove.Test {
	dir := filepath.Join("..", "..", "examples", example)
	return prove.Test{
		CRDs: filepath.Join(dir, "config/crd"), Samples: filepath.Join(dir, "config/samples"), RBAC: filepath.Join(dir, "config/rbac"),
		Start: func(ctx context.Context, config *rest.Config, namespace string) error {
			watches, err := engine.Read(filepath.Join(dir, "watches.yaml"), create())
			if err != nil {
				return err
			}
			options, err := engine.Options(watches)
			if err != nil {
				return err
			}
			return operon.Run(ctx, example, config, operon.Config{Namespace: namespace}, options...)
		},
	}
}
