package up_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/local/localtest"
)

// TestAProjectOfOperatorSDKsHelm runs an unchanged project with the layout of Operator SDK's Helm operator. It has no Go sources: the
// program that runs watches.yaml is built instead.
func TestAProjectOfOperatorSDKsHelm(t *testing.T) {
	t.Parallel()
	f := &fixture{dir: t.TempDir(), env: localtest.Shared(t)}
	if err := os.CopyFS(f.dir, os.DirFS(filepath.Join("..", "project", "testdata", "helm-sdk"))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.mustDown(t) })
	got := f.once(t, nil)
	if got.err != nil {
		t.Fatalf("%v\n%s", got.err, got.stderr)
	}
	if err := lacks(got.stdout, "Till default/till-sample", "Deployed=True (InstallSuccessful)", "Deployment till-sample", "1/1 ready"); err != nil {
		t.Error(err)
	}
	f.noOperator(t)
}
