package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/git"
)

// A repository's configuration can name programs for many purposes. Commands that read run none of them.
func TestConfigurationRunsNoProgram(t *testing.T) {
	t.Parallel()
	dir, missing := t.TempDir(), strings.Repeat("1", 40)
	run := func(arguments ...string) {
		t.Helper()
		if output, err := git.Output(t.Context(), dir, arguments...); err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, output)
		}
	}
	ran := filepath.Join(dir, "ran")
	run("init", "-q")
	run("config", "core.fsmonitor", "touch "+ran+"; false")
	run("config", "core.repositoryFormatVersion", "1")
	run("config", "extensions.partialClone", "origin")
	run("config", "remote.origin.promisor", "true")
	run("config", "remote.origin.uploadpack", "touch "+ran+"; git-upload-pack")
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{dir, "file://" + dir, "ext::touch " + ran, "ssh://host/x"} {
		run("config", "remote.origin.url", url)
		run("config", "core.sshCommand", "touch "+ran+"; false")
		if _, err := git.Output(t.Context(), dir, "rev-parse", "--verify", missing+"^{commit}"); err == nil {
			t.Error("a missing commit is found")
		}
		if status, err := git.Output(t.Context(), dir, "status", "--porcelain"); err != nil || !strings.Contains(status, "?? file") {
			t.Errorf("the status is %q, error %v", status, err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("with the remote %s, a program of the repository's configuration ran", url)
		}
	}
}

// The error is what git reports.
func TestOutputFails(t *testing.T) {
	t.Parallel()
	if _, err := git.Output(t.Context(), t.TempDir(), "log", "-1"); err == nil || !strings.HasPrefix(err.Error(), "fatal: not a git repository") {
		t.Errorf("the error is %v", err)
	}
}
