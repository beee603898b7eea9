package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/operon-framework/operon/local"
)

// caches are cache directories in the test's own home directory.
type caches struct {
	t    *testing.T
	home string
}

func newCaches(t *testing.T) caches {
	t.Helper()
	home := t.TempDir()
	t.Setenv("OPERON_HOME", home)
	return caches{t, filepath.Join(home, "build")}
}

// of creates the cache of a project, and unlocks it.
func (c caches) of(dir string) string {
	c.t.Helper()
	made, err := openCache(c.t.Context(), dir, func() {})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := made.lock.Unlock(); err != nil {
		c.t.Fatal(err)
	}
	return made.folder
}

// without creates a cache that names no project and was last used the given time ago.
func (c caches) without(dir string, ago time.Duration) string {
	c.t.Helper()
	folder, then := c.of(dir), time.Now().Add(-ago)
	for _, err := range []error{
		os.Remove(filepath.Join(folder, projectFile)),
		os.Chtimes(filepath.Join(folder, "store", "blobs", "sha256"), then, then), os.Chtimes(folder, then, then),
	} {
		if err != nil {
			c.t.Fatal(err)
		}
	}
	return folder
}

func (c caches) left() []string {
	c.t.Helper()
	entries, err := os.ReadDir(c.home)
	if err != nil {
		c.t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() {
			found = append(found, filepath.Join(c.home, entry.Name()))
		}
	}
	return found
}

// project creates the directory of a project.
func (c caches) project() string {
	c.t.Helper()
	dir := c.t.TempDir()
	for name, content := range map[string]string{"go.mod": "module web\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	return dir
}

// The caches of projects that no longer exist, or that were not used for long, are removed unless they are locked.
func TestCachesOfProjectsThatAreGone(t *testing.T) {
	c := newCaches(t)
	dir := c.project()
	roles := t.TempDir()
	if err := os.WriteFile(filepath.Join(roles, "watches.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stay := []string{c.of(dir), c.of(roles), c.without("/of/an/older/version", forgotten/2)}
	c.of("/gone")
	c.without("/forgotten", 2*forgotten)
	killed := c.of("/gone/half")
	if err := errors.Join(os.Remove(filepath.Join(killed, projectFile)), os.Rename(killed, killed+removing)); err != nil {
		t.Fatal(err)
	}
	held := c.of("/gone/and/held")
	lock, err := local.TryLock(filepath.Join(held, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // everything that a build compiles is later
	if _, err := Run(ctx, dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	want := append(stay, held)
	slices.Sort(want)
	if left := c.left(); !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	if err := errors.Join(lock.Unlock(), removeGone()); err != nil {
		t.Fatal(err)
	}
	if left := c.left(); slices.Contains(left, held) {
		t.Error("what nobody holds any more is there still")
	}
}

// A process that waits for a cache that is removed in the meantime gets a new one.
func TestCachesThatAreRemovedMeanwhile(t *testing.T) {
	c := newCaches(t)
	folder := c.of("/gone")
	lock, err := local.TryLock(filepath.Join(folder, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	next, err := openCache(t.Context(), "/gone", func() {
		if err := errors.Join(os.Rename(folder, folder+removing), lock.Unlock()); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer next.lock.Unlock()
	if err := removeGone(); err != nil {
		t.Error(err)
	}
	if left := c.left(); !slices.Equal(left, []string{folder}) {
		t.Errorf("left are %q", left)
	}
}
