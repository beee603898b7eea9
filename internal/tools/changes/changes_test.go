package changes_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/operon-framework/operon/internal/tools/changes"
)

// tree is the content of a directory: file content by path. Paths of directories end in a slash.
type tree map[string]string

func put(t *testing.T, files tree) string {
	t.Helper()
	dir := t.TempDir()
	for path, content := range files {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func look(t *testing.T, dir string) tree {
	t.Helper()
	found := tree{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		relative, _ := filepath.Rel(dir, path)
		if entry.IsDir() {
			found[relative+"/"] = ""
			return nil
		}
		content, err := os.ReadFile(path)
		found[relative] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func in(t *testing.T, dir string) *changes.Set {
	t.Helper()
	set, err := changes.In(dir)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func expect(t *testing.T, dir string, want tree) {
	t.Helper()
	got := look(t, dir)
	for path, content := range want {
		if have, ok := got[path]; !ok || have != content {
			t.Errorf("%s holds %q (there: %t), want %q", path, have, ok, content)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s is there and should not be", path)
		}
	}
}

func TestApplyWritesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	dir := put(t, tree{"same.txt": "same", "old.txt": "old", "gone.txt": "gone"})
	long := time.Unix(1e9, 0)
	if err := os.Chtimes(filepath.Join(dir, "same.txt"), long, long); err != nil {
		t.Fatal(err)
	}
	set := in(t, dir)
	set.Write("same.txt", []byte("same"))
	set.Write("old.txt", []byte("new"))
	set.Create("a/b/c.txt", nil)
	set.Remove("gone.txt")
	set.Remove("never.txt")
	changed, err := set.Apply(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(changed, " "); got != "a/b/c.txt gone.txt old.txt" {
		t.Errorf("changed %s", got)
	}
	expect(t, dir, tree{"same.txt": "same", "old.txt": "new", "a/": "", "a/b/": "", "a/b/c.txt": ""})
	if info, err := os.Stat(filepath.Join(dir, "same.txt")); err != nil || !info.ModTime().Equal(long) {
		t.Errorf("what did not change was written: %v %v", info.ModTime(), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "old.txt")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode changed to %v (%v)", info.Mode(), err)
	}
}

func TestALinkStaysALink(t *testing.T) {
	t.Parallel()
	dir := put(t, tree{"real/file.txt": "old"})
	if err := os.Symlink("real/file.txt", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	set := in(t, dir)
	set.Write("link.txt", []byte("new"))
	if _, err := set.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, tree{"real/": "", "real/file.txt": "new", "link.txt": "new"})
	if led, err := os.Readlink(filepath.Join(dir, "link.txt")); led != "real/file.txt" {
		t.Errorf("the link became %q, %v", led, err)
	}
}

func TestNothingIsChangedByHalves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string, set *changes.Set)
		want  string
	}{
		"a file already exists": {func(_ *testing.T, _ string, set *changes.Set) { set.Create("b.txt", nil) }, "b.txt already exists and is not overwritten"},
		"a path leads out":      {func(_ *testing.T, _ string, set *changes.Set) { set.Write("../out.txt", nil) }, "../out.txt leads out of"},
		"a directory is in the way": {func(t *testing.T, dir string, set *changes.Set) {
			if err := os.MkdirAll(filepath.Join(dir, "z"), 0o755); err != nil {
				t.Fatal(err)
			}
			set.Write("z", []byte("z"))
		}, "is a directory"},
		"a file is where a directory should be": {func(_ *testing.T, _ string, set *changes.Set) { set.Write("b.txt/x/y", nil) }, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := put(t, tree{"a.txt": "a", "b.txt": "b"})
			set := in(t, dir)
			set.Write("a.txt", []byte("new"))
			set.Write("new/c.txt", []byte("c"))
			test.spoil(t, dir, set)
			before := look(t, dir)
			changed, err := set.Apply(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || changed != nil {
				t.Errorf("changed %v, error %v, want %q", changed, err, test.want)
			}
			expect(t, dir, before)
		})
	}
}

// If a step fails after others succeeded, all files are restored.
func TestWhatWasMovedIsMovedBack(t *testing.T) {
	t.Parallel()
	dir := put(t, tree{"a.txt": "a", "m/keep.txt": "keep", "z.txt": "z"})
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere+"/none", filepath.Join(dir, "m/dangling")); err != nil {
		t.Fatal(err)
	}
	set := in(t, dir)
	set.Write("a.txt", []byte("new"))
	set.Write("b/c/d.txt", []byte("d"))
	set.Remove("m/keep.txt")
	set.Write("m/dangling/x", []byte("no directory can be made here"))
	set.Write("z.txt", []byte("new"))
	if changed, err := set.Apply(t.Context()); err == nil {
		t.Fatalf("changed %v", changed)
	}
	if err := os.Remove(filepath.Join(dir, "m/dangling")); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, tree{"a.txt": "a", "m/": "", "m/keep.txt": "keep", "z.txt": "z"})
}

func TestAFailureInTheMiddleIsUndone(t *testing.T) {
	t.Parallel()
	before := tree{"a.txt": "a", "m/": "", "m/keep.txt": "keep", "z.txt": "z"}
	dir := put(t, tree{"a.txt": "a", "m/keep.txt": "keep", "z.txt": "z"})
	set := in(t, dir)
	set.Write("a.txt", []byte("new"))
	set.Remove("m/keep.txt")
	set.Write("n/x", []byte("a file where the next one needs a directory"))
	set.Write("n/x/y", nil)
	set.Write("z.txt", []byte("new"))
	if changed, err := set.Apply(t.Context()); err == nil {
		t.Fatalf("changed %v", changed)
	}
	expect(t, dir, before)
}

func TestAnInterruptionChangesNothing(t *testing.T) {
	t.Parallel()
	dir := put(t, tree{"a.txt": "a"})
	set := in(t, dir)
	set.Write("a.txt", []byte("new"))
	set.Write("b.txt", []byte("new"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if changed, err := set.Apply(ctx); err == nil {
		t.Errorf("changed %v", changed)
	}
	expect(t, dir, tree{"a.txt": "a"})
}

func TestDiff(t *testing.T) {
	t.Parallel()
	dir := put(t, tree{"a.txt": "one\ntwo", "gone.txt": "gone\n", "same.txt": "same\n"})
	set := in(t, dir)
	set.Write("a.txt", []byte("one\nthree\n"))
	set.Write("new.txt", []byte("new\n"))
	set.Write("same.txt", []byte("same\n"))
	set.Remove("gone.txt")
	got, err := set.Diff()
	if err != nil {
		t.Fatal(err)
	}
	want := `--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
 one
-two
\ No newline at end of file
+three
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+new
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	expect(t, dir, tree{"a.txt": "one\ntwo", "gone.txt": "gone\n", "same.txt": "same\n"})
}

func TestAKilledRunIsUndone(t *testing.T) {
	t.Parallel()
	dir := put(t, tree{"a.txt": "a", "gone.txt": "gone"})
	changes.LeaveHalf(t, dir, map[string]string{"a.txt": "new", "b/c.txt": "new", "z.txt": "new"}, 2)
	if _, err := os.Stat(filepath.Join(dir, "b/c.txt")); err != nil {
		t.Fatalf("nothing was left half done: %v", err)
	}
	in(t, dir)
	expect(t, dir, tree{"a.txt": "a", "gone.txt": "gone"})
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	dir := put(t, tree{})
	release := changes.Hold(t, dir)
	if _, err := changes.In(dir); err == nil || !strings.Contains(err.Error(), "another operon is writing into "+dir) {
		t.Errorf("%v", err)
	}
	release()
	in(t, dir)
	expect(t, dir, tree{})
}
