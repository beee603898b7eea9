package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The directory for images is one that other users cannot have filled.
func TestCacheDir(t *testing.T) {
	temporary := t.TempDir()
	dir := filepath.Join(temporary, "operon-olm")
	t.Setenv("TMPDIR", temporary)
	for _, variable := range []string{"HOME", "XDG_CACHE_HOME", cacheVariable} {
		t.Setenv(variable, "")
	}
	for range 2 { // also by the next process
		if got, err := cacheDir(); err != nil || got != dir {
			t.Fatalf("the directory is %s, error %v", got, err)
		}
	}
	if info, err := os.Lstat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, error %v", info, err)
	}
	if err := makePrivate(dir, os.Geteuid()+1); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("of another user: %v", err)
	}
	refused := func(want string) {
		t.Helper()
		if got, err := cacheDir(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "set OLM_CACHE_DIR") {
			t.Errorf("the directory is %q, error %v, want %s", got, err, want)
		}
	}
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	refused("has the mode 0770")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	refused("is not a directory")

	t.Setenv("HOME", "/home/someone")
	if got, err := cacheDir(); err != nil || !strings.HasPrefix(got, "/home/someone/") {
		t.Errorf("with a home, the directory is %s, error %v", got, err)
	}
	t.Setenv(cacheVariable, "/cache")
	if got, err := cacheDir(); err != nil || got != "/cache" {
		t.Errorf("with %s, the directory is %s, error %v", cacheVariable, got, err)
	}
}
