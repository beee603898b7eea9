package generate_test

import (
	"path/filepath"
	"testing"

	projects "github.com/operon-framework/operon/internal/tools/project"
)

// TestKindsOfWalkthroughs uses the types of well-known tutorials, with the markers that they had years ago. The wanted
// definitions were written manually from the tutorials' own manifests, in today's version of the API.
func TestKindsOfWalkthroughs(t *testing.T) {
	t.Parallel()
	all := contents(t, "testdata/walkthroughs")
	wanted, err := filepath.Glob("testdata/walkthroughs/want/*.yaml")
	if err != nil || len(wanted) != 3 {
		t.Fatalf("%d definitions are wanted, %v", len(wanted), err)
	}
	result := plan(t, project(t, all))
	for _, file := range wanted {
		path := projects.CRDFolder + "/" + filepath.Base(file)
		if got, _ := result.Changes.Content(path); string(got) != read(t, file) {
			t.Errorf("%s is\n%s\nwant %s", path, got, file)
		}
	}
}
