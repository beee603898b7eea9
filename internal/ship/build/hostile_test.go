package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Git runs no program that the repository's configuration names, also not to fetch a missing commit: an extracted archive may contain such a repository.
func TestGitRunsNoProgramOfTheRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	for _, arguments := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "core.fsmonitor", "touch " + ran + "; false"},
		{"config", "core.repositoryFormatVersion", "1"}, {"config", "extensions.partialClone", "origin"},
		{"config", "remote.origin.url", dir}, {"config", "remote.origin.uploadpack", "touch " + ran + "; git-upload-pack"},
	} {
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
	missing := []byte(strings.Repeat("1", 40) + "\n")
	if err := os.WriteFile(filepath.Join(dir, ".git", "refs", "heads", "main"), missing, 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := readRevision(t.Context(), dir, nil); err != nil || found.Commit != "" {
		t.Errorf("the revision is %+v, error %v", found, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository's configuration ran")
	}
}
