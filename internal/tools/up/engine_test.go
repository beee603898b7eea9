package up_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/scaffold"
	"github.com/operon-framework/operon/local/localtest"
)

// TestAProjectOfOperatorSDKsHelm runs an unchanged project with the layout of Operator SDK's Helm operator. It has no Go sources: the
// program that runs watches.yaml is built instead.
func TestAProjectOfOperatorSDKsHelm(t *testing.T) {
	t.Parallel()
	runsUnchanged(t, "helm-sdk", "Till default/till-sample", "Deployed=True (InstallSuccessful)", "Deployment till-sample", "1/1 ready")
}

// TestAProjectOfOperatorSDKsAnsible is the same for an Ansible role. Its finalizer runs when everything is removed.
func TestAProjectOfOperatorSDKsAnsible(t *testing.T) {
	t.Parallel()
	testaid.NeedsAnsible(t)
	runsUnchanged(t, "ansible-sdk", "Kiosk default/kiosk-sample", "Successful=True (Successful)", "Deployment kiosk-sample-memcached", "1/1 ready")
}

// runsUnchanged runs a copy of a project.
func runsUnchanged(t *testing.T, project string, wanted ...string) {
	t.Helper()
	f := &fixture{dir: t.TempDir(), env: localtest.Shared(t)}
	if err := os.CopyFS(f.dir, os.DirFS(filepath.Join("..", "project", "testdata", project))); err != nil {
		t.Fatal(err)
	}
	f.runs(t, wanted...)
}

// runs runs the project until its samples are ready, and checks what is printed.
func (f *fixture) runs(t *testing.T, wanted ...string) {
	t.Helper()
	t.Cleanup(func() { f.mustDown(t) })
	got := f.once(t, nil)
	if got.err != nil {
		t.Fatalf("%v\n%s", got.err, got.stderr)
	}
	if err := lacks(got.stdout, wanted...); err != nil {
		t.Error(err)
	}
	f.noOperator(t)
}

// A new project of Ansible roles works, with a role and a playbook for two kinds.
func TestANewProjectOfAnsibleRoles(t *testing.T) {
	t.Parallel()
	testaid.NeedsAnsible(t)
	f := &fixture{dir: filepath.Join(t.TempDir(), "stand-operator"), env: localtest.Shared(t)}
	for _, plan := range []interface {
		Plan(context.Context, func(string)) (*scaffold.Plan, error)
	}{
		scaffold.FromAnsible{Dir: f.dir, Group: "new-roles"}, scaffold.API{Dir: f.dir, Group: "new-roles", Version: "v1", Kind: "Shelf", Playbook: true},
	} {
		planned, err := plan.Plan(t.Context(), func(string) {})
		if err == nil {
			_, err = planned.Apply(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f.runs(t, "Stand default/example-stand", "ConfigMap example-stand", "Shelf default/example-shelf", "ConfigMap example-shelf")
}
