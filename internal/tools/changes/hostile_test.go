package changes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/changes"
)

func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "changes-*")
	if err == nil {
		err = os.Setenv("OPERON_HOME", home)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// A list of changes in the project is ignored: a repository may contain any file.
func TestAListInTheProjectTouchesNothing(t *testing.T) {
	t.Parallel()
	victim := filepath.Join(put(t, tree{"bashrc": "mine"}), "bashrc")
	planted := tree{
		".operon-changes/steps.json": `[{"Target":"` + victim + `","Old":".operon-changes/old/0"},{"Target":"a.txt"}]`,
		".operon-changes/old/0":      "evil",
		"a.txt":                      "a",
	}
	dir := put(t, planted)
	set := in(t, dir)
	set.Write("a.txt", []byte("new"))
	if _, err := set.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	planted["a.txt"], planted[".operon-changes/"], planted[".operon-changes/old/"] = "new", "", ""
	expect(t, dir, planted)
	expect(t, filepath.Dir(victim), tree{"bashrc": "mine"})
}

func TestLinksOutOfTheProjectAreNotFollowed(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"a file": "file.md", "a directory": "docs/bashrc", "a new file": "docs/new.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := put(t, tree{"bashrc": "mine"})
			dir := put(t, tree{"a.txt": "a"})
			for link, to := range map[string]string{"file.md": outside + "/bashrc", "docs": outside} {
				if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			set := in(t, dir)
			set.Write("a.txt", []byte("new"))
			set.Write(path, []byte("evil"))
			if diff, err := set.Diff(); err == nil || strings.Contains(diff, "mine") {
				t.Errorf("printed %q", diff)
			}
			if changed, err := set.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "outside of "+dir) {
				t.Errorf("changed %v, error %v", changed, err)
			}
			expect(t, outside, tree{"bashrc": "mine"})
			if content, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(content) != "a" {
				t.Errorf("a.txt holds %q, %v", content, err)
			}
		})
	}
}

// Recovery keeps files that the user wrote after the run was killed.
func TestRecoveryKeepsLaterEdits(t *testing.T) {
	t.Parallel()
	dir := put(t, tree{"a.txt": "a", "b.txt": "b"})
	changes.LeaveHalf(t, dir, map[string]string{"a.txt": "new", "b.txt": "new"}, 2)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	in(t, dir)
	expect(t, dir, tree{"a.txt": "edited", "b.txt": "b"})
}
