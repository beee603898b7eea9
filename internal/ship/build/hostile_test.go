package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Git runs no program that the repository's configuration names: an extracted archive may contain such a repository.
func TestGitRunsNoProgramOfTheRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	for _, arguments := range [][]string{{"init", "-q"}, {"config", "core.fsmonitor", "touch " + ran + "; false"}} {
		command := exec.CommandContext(t.Context(), "git", arguments...)
		command.Dir = dir
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, output)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := changes(t.Context(), dir, dir, nil); err != nil || !changed {
		t.Errorf("changed: %t, %v", changed, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository's configuration ran")
	}
}
