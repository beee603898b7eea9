package glob_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/glob"
)

func TestAFoldersNameIsNoPattern(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "web [1] *")
	for _, name := range []string{"b.go", "a.go", "a.txt", "cmd/x/main.go"} {
		testaid.Write(t, filepath.Join(dir, name), "")
	}
	for pattern, want := range map[string][]string{
		"*.go":        {dir + "/a.go", dir + "/b.go"},
		"cmd/*/*.go":  {dir + "/cmd/x/main.go"},
		"none/*.yaml": nil,
	} {
		if got, err := glob.In(dir, pattern); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
	if got, err := glob.In(dir+"/none", "*"); err != nil || got != nil {
		t.Errorf("no directory: %q, %v", got, err)
	}
	if _, err := glob.In(dir, "["); err == nil {
		t.Error("a broken pattern is none")
	}
}
