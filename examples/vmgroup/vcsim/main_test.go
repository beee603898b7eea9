package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A command runs while the vCenter runs, can read the Secret, which only this user can read, and determines the exit code. The
// file is removed with the vCenter.
func TestBesideACommand(t *testing.T) {
	t.Parallel()
	file, copied := filepath.Join(t.TempDir(), "creds.yaml"), filepath.Join(t.TempDir(), "copy.yaml")
	err := run("127.0.0.1:0", file, []string{"/bin/sh", "-c", `grep -q VC_PASS "$0" && cp -p "$0" "$1" && exit 7`, file, copied})
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 7 {
		t.Errorf("the command ended with %v, want 7", err)
	}
	if about, err := os.Stat(copied); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("the file was %v, %v, want one for this user alone", about, err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

// An existing file is not changed, and the error states the remedy.
func TestSecretOfAnother(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "creds.yaml")
	if err := os.WriteFile(file, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run("127.0.0.1:0", file, []string{"true"}); err == nil || !strings.Contains(err.Error(), "remove it, or name another one with --secret") {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadFile(file); string(left) != "theirs" {
		t.Errorf("the file is %q, %v", left, err)
	}
}
