package up_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/internal/tools/generate"
	"github.com/operon-framework/operon/local/localtest"
)

// TestAProjectOfKubebuilders uses a project with kubebuilder's layout that does not use Operon: derived files are generated,
// and then it runs in the same directory without any other changes.
func TestAProjectOfKubebuilders(t *testing.T) {
	t.Parallel()
	f := &fixture{dir: t.TempDir(), env: localtest.Shared(t)}
	if err := os.CopyFS(f.dir, os.DirFS(filepath.Join("..", "project", "testdata", "v4"))); err != nil {
		t.Fatal(err)
	}
	plan, err := generate.Plan(t.Context(), f.dir, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Changes.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.mustDown(t) })
	got := f.once(t, nil)
	if got.err != nil {
		t.Fatalf("%v\n%s", got.err, got.stderr)
	}
	if err := lacks(got.stdout, "Site default/site-sample", "Ready", "Available=True (Written)"); err != nil {
		t.Error(err)
	}
	f.noOperator(t)
}
