package process_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/internal/tools/up/mount"
	"github.com/operon-framework/operon/internal/tools/up/process"
	"github.com/operon-framework/operon/local/localtest"
)

// mountable skips a test on machines on which this user cannot create a namespace.
func mountable(t *testing.T, target string) {
	t.Helper()
	if err := mount.Possible(target); err != nil {
		testaid.Lacks(t, "this machine shows a process no files of its own: %v", err)
	}
}

// TestMounts shows a child a directory at a path that does not exist.
func TestMounts(t *testing.T) {
	t.Parallel()
	root, source := t.TempDir(), t.TempDir()
	for name, make := range map[string]func(string) error{
		"file":   func(path string) error { return os.WriteFile(path, []byte("f"), 0o600) },
		"folder": func(path string) error { return os.MkdirAll(filepath.Join(path, "inner"), 0o700) },
		"link":   func(path string) error { return os.Symlink("folder", path) },
	} {
		if err := make(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	target := filepath.Join(root, "deep", "down")
	mountable(t, target)
	put(t, source, "first")
	lines := make(chan string, 10)
	process, err := process.Start(process.Command{
		Path: os.Args[0], Env: []string{role + "=looker", lookAt + "=" + filepath.Join(target, "token")},
		Mounts: []mount.Mount{{Source: source, Target: target}},
		Log:    process.NewLog(&bytes.Buffer{}, func(line string) { lines <- line }),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Stop(0) })
	if got := localtest.Receive(t, "what is beside the file", lines); got != "[deep file folder link]" {
		t.Errorf("beside it is %s", got)
	}
	if got := localtest.Receive(t, "the file", lines); got != "first" {
		t.Errorf("the file says %s", got)
	}
	put(t, source, "second")
	if got := localtest.Receive(t, "the other file", lines); got != "second" {
		t.Errorf("the file says %s", got)
	}
	if got, err := os.ReadDir(root); err != nil || !slices.Equal(names(got), []string{"file", "folder", "link"}) {
		t.Errorf("others see %v, %v", got, err)
	}
}

// put replaces the token in a directory atomically.
func put(t *testing.T, folder, text string) {
	t.Helper()
	next := filepath.Join(folder, "next")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(folder, "token")); err != nil {
		t.Fatal(err)
	}
}

// A child with mounts has the same identity and permissions as without mounts.
func TestMountsGiveNoRights(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "one")
	mountable(t, target)
	with, without := rights(t, mount.Mount{Source: t.TempDir(), Target: target}), rights(t)
	if with != without || !strings.Contains(with, "CapEff") {
		t.Errorf("with mounts:\n%s\nwithout:\n%s", with, without)
	}
}

// rights returns the lines of a child's status about its identity and permissions.
func rights(t *testing.T, mounts ...mount.Mount) string {
	t.Helper()
	var out bytes.Buffer
	process, err := process.Start(process.Command{
		Path: "/bin/sh", Args: []string{"-c", "grep -E '^(Uid|CapEff|CapPrm|CapInh|CapAmb|NoNewPrivs|SigBlk|SigIgn)' /proc/self/status; ulimit -n"},
		Mounts: mounts, Log: process.NewLog(&out, func(string) {}),
	})
	if err != nil {
		t.Fatal(err)
	}
	localtest.Receive(t, "the child's end", process.Done())
	return out.String()
}

// A command that cannot be started results in an error with mounts, too.
func TestMountsForNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none")
	_, err := process.Start(process.Command{Path: path, Mounts: []mount.Mount{{}}, Log: process.NewLog(&bytes.Buffer{}, nil)})
	if err == nil || !strings.HasPrefix(err.Error(), "start "+path) {
		t.Errorf("%v", err)
	}
}
