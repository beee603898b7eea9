package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/engine"
	"github.com/operon-framework/operon/engine/ansible"
	"github.com/operon-framework/operon/engine/helm"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/generate/kustomize"
	"github.com/operon-framework/operon/prove"
)

// Whatever fault is injected, the operator of a Helm chart converges to the same state.
func TestChartIsReliable(t *testing.T) {
	t.Parallel()
	prove.Run(t, proof(filepath.Join(examples, "mysqlcluster-helm"), newHelm))
}

// The same for the operator of an Ansible role.
func TestRoleIsReliable(t *testing.T) {
	t.Parallel()
	testaid.NeedsAnsible(t)
	test := proof(filepath.Join(examples, "mysqlcluster-ansible"), newAnsible)
	test.Settle = settleOfRoles
	test.Budget = time.Minute
	test.Plans = 20
	if testing.Short() {
		test.Plans = 2 // a run of the role takes seconds
	}
	prove.Run(t, test)
}

// The same for unchanged projects in the layout of Operator SDK.
func TestProjectsOfOperatorSDKAreReliable(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func() engine.Engine{"helm-sdk": newHelm, "ansible-sdk": newAnsible} {
		t.Run(name, func(t *testing.T) {
			if name == "ansible-sdk" {
				testaid.Slow(t, "a run of the role takes seconds; TestRoleIsReliable injects faults into another one, and package internal/tools/up runs this project without faults")
			}
			t.Parallel()
			dir := sdkProjects + name
			test := proof(dir, create)
			test.CRDs, test.RBAC, test.Plans = filepath.Join(dir, "config/crd/bases"), built(t, filepath.Join(dir, "config/rbac")), 10
			if name == "ansible-sdk" {
				testaid.NeedsAnsible(t)
				test.Settle, test.Budget = settleOfRoles, time.Minute
			}
			prove.Run(t, test)
		})
	}
}

// The same for an operator that stores its releases as Helm does. The number of revisions may differ between runs.
func TestStoredReleasesAreReliable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testaid.Copy(t, dir, filepath.Join(examples, "mysqlcluster-helm"))
	testaid.Edit(t, filepath.Join(dir, "watches.yaml"), "chart: helm-charts/mysqlcluster", "chart: helm-charts/mysqlcluster\n  storage: secret")
	test := proof(dir, newHelm)
	test.Plans = 20
	prove.Run(t, test)
}

// built returns a file with the objects of a kustomization.
func built(t *testing.T, dir string) string {
	t.Helper()
	objects, err := kustomize.BuildDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "built.yaml")
	testaid.Write(t, file, string(objects))
	return file
}

const (
	examples    = "../../examples"
	sdkProjects = "../../internal/tools/project/testdata/"
)

// settleOfRoles is longer than that of other operators, because a run of a role takes longer than a reconcile.
const settleOfRoles = 2 * time.Second

func newHelm() engine.Engine { return helm.Engine{} }

func newAnsible() engine.Engine { return &ansible.Engine{} }

// proof returns the test of a project without Go.
func proof(dir string, create func() engine.Engine) prove.Test {
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
			return operon.Run(ctx, filepath.Base(dir), config, operon.Config{Namespace: namespace}, options...)
		},
	}
}
