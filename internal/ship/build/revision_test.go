package build

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/git"
)

func TestWhereSourcesAre(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, folder, want string }{
		{"github.com/someone/web", "", "https://github.com/someone/web"},
		{"github.com/someone/web/v2", "", "https://github.com/someone/web"},
		{"github.com/someone/web/v2", "v2", "https://github.com/someone/web"},
		{"github.com/someone/web/operators/shop", "operators/shop", "https://github.com/someone/web"},
		{"github.com/someone/web/operators/shop/v3", "operators/shop", "https://github.com/someone/web"},
		{"github.com/someone/web/operators/shop/v3", "operators/shop/v3", "https://github.com/someone/web"},
		{"gitlab.com/group/subgroup/team/web", "", "https://gitlab.com/group/subgroup/team/web"},
		{"gitlab.com/group/subgroup/team/web/shop/v2", "shop", "https://gitlab.com/group/subgroup/team/web"},
		{"gopkg.in/web.v2", "", "https://gopkg.in/web.v2"},
		{"code.company.org/web", "", "https://code.company.org/web"},

		{"github.com/someone/web", "operators/shop", ""}, // for example, a copy in another repository
		{"github.com/someone/web/shop", "", ""},          // no GitHub repository has such a path
		{"github.com/someone/web", "web", ""},
		{"code.company.org/web", "web", ""},
		{"example.com/web", "", ""},
		{"git.example.org/web", "", ""},
		{"machine.test/web", "", ""},
		{"web", "", ""},
		{"someone/web", "", ""},
	} {
		if got := source(test.path, revision{Commit: "1", Folder: test.folder}); got != test.want {
			t.Errorf("%s in the directory %q: %q, want %q", test.path, test.folder, got, test.want)
		}
	}
	if got := source("gitlab.com/group/web", revision{}); got != "" {
		t.Errorf("without a repository: %q", got)
	}
}

// A project may be in a subdirectory of its repository, and its path may contain a link.
func TestFolderOfAProject(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	dir := filepath.Join(root, "operators", "web [1]")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o600), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-qm", "first"}} {
		if _, err := git.Output(t.Context(), root, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []string{dir, link} {
		found, err := readRevision(t.Context(), from, nil)
		if err != nil || found.Root != root || found.Folder != "operators/web [1]" || strings.HasSuffix(found.Commit, dirty) {
			t.Errorf("%s: %+v, %v", from, found, err)
		}
	}
	archive := filepath.Join(link, "web.tar")
	if err := os.WriteFile(archive, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ours := range [][]string{{archive}, {filepath.Join(dir, "web.tar")}, nil} {
		found, err := readRevision(t.Context(), link, ours)
		if err != nil || strings.HasSuffix(found.Commit, dirty) != (ours == nil) {
			t.Errorf("with the outputs %q: %+v, %v", ours, found, err)
		}
	}
	if err := os.Remove(archive); err != nil {
		t.Fatal(err)
	}
	if found, err := readRevision(t.Context(), root, nil); err != nil || found.Folder != "" {
		t.Errorf("at the root: %+v, %v", found, err)
	}
}
