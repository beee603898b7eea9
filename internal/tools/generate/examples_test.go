package generate_test

import (
	"path/filepath"
	"testing"
)

// `operon generate --check` succeeds in each example, and for the lifecycle manager.
func TestExamplesAreGenerated(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Glob("../../../examples/*/go.mod")
	if err != nil || len(examples) < 4 {
		t.Fatalf("examples: %q, %v", examples, err)
	}
	for _, example := range append(examples, "../../../olm/go.mod") {
		dir := filepath.Dir(example)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			diff, err := plan(t, dir).Diff()
			if err != nil {
				t.Fatal(err)
			}
			if diff != "" {
				t.Errorf("run operon generate in %s:\n%s", dir, diff)
			}
		})
	}
}
