package up_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
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
	if said, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import ansible_collections.kubernetes.core, kubernetes").CombinedOutput(); err != nil {
		testaid.Lacks(t, "the role needs Debian's packages ansible and python3-kubernetes: %s", said)
	}
	runsUnchanged(t, "ansible-sdk", "Kiosk default/kiosk-sample", "Successful=True (Successful)", "Deployment kiosk-sample-memcached", "1/1 ready")
}

// runsUnchanged runs a project until its sample is ready, and checks what is printed.
func runsUnchanged(t *testing.T, project string, wanted ...string) {
	t.Helper()
	f := &fixture{dir: t.TempDir(), env: localtest.Shared(t)}
	if err := os.CopyFS(f.dir, os.DirFS(filepath.Join("..", "project", "testdata", project))); err != nil {
		t.Fatal(err)
	}
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
