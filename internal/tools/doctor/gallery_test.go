package doctor

import (
	"path/filepath"
	"testing"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

// TestGallery: the rules find the bugs of operators with real bugs, each in its own file, and nothing in the correct ones, whose names
// begin with ok.
func TestGallery(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs("../../../prove/testdata/gallery")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := rule.Load(t.Context(), dir, "./...")
	if err != nil {
		t.Fatal(err)
	}
	crds, err := project.ReadFolder(dir, project.CRDFolder)
	if err != nil {
		t.Fatal(err)
	}
	roles, err := project.ReadFolder(dir, project.RBACFolder)
	if err != nil {
		t.Fatal(err)
	}
	s, err := rule.New(dir, project.ControllerRuntime, rule.Manifests{CRDs: crds, Grants: project.GrantsOf(dir, roles)}, rule.Index(dir, loaded))
	if err != nil {
		t.Fatal(err)
	}
	report, err := examine(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var found []Finding
	for _, f := range report.Findings {
		f.Message = f.Rule + ": " + f.Message
		found = append(found, f)
	}
	golden(t, filepath.Join("testdata", "outputs", "gallery.txt"), told(found))
}
