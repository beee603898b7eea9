package scaffold_test

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/scaffold"
)

// planner is any command of the package.
type planner interface {
	Plan(ctx context.Context, tell func(string)) (*scaffold.Plan, error)
}

// carryOut executes a plan, and returns the written files.
func carryOut(t *testing.T, command planner) []string {
	t.Helper()
	written, err := try(t, command)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func try(t *testing.T, command planner) ([]string, error) {
	t.Helper()
	plan, err := command.Plan(t.Context(), func(doing string) {
		if !*update && strings.Contains(doing, "go mod tidy") {
			t.Errorf("go.mod and go.sum of projects do not fit this checkout's any more; go test ./scaffold -update: %s", doing)
		}
	})
	if err != nil {
		return nil, err
	}
	return plan.Apply(t.Context())
}

// memcached returns the kind that most tests create.
func memcached(dir string) scaffold.API {
	return scaffold.API{Dir: dir, Group: "cache", Version: "v1alpha1", Kind: "Memcached"}
}

// tree is the content of a directory: file content by path.
type tree map[string]string

func look(t *testing.T, dir string) tree {
	t.Helper()
	found := tree{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			found[relative+"/"] = ""
			return nil
		}
		found[relative] = read(t, dir, relative)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, dir, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func put(t *testing.T, dir, path, content string) {
	t.Helper()
	file := filepath.Join(dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// same compares two trees.
func same(t *testing.T, got, want tree) {
	t.Helper()
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		before, was := want[path]
		now, is := got[path]
		switch {
		case !was:
			t.Errorf("%s is there and should not be", path)
		case !is:
			t.Errorf("%s is gone", path)
		case before != now:
			t.Errorf("%s changed to\n%s", path, now)
		}
	}
}

// generated reports whether a file is generated. Such files are tested with their generators.
func generated(path string) bool {
	return strings.Contains(path, "zz_generated") || strings.HasPrefix(path, "config/crd") || strings.HasPrefix(path, "config/rbac")
}

// golden compares the tree with a file that contains a header for each file. It ignores generated files, go.mod and go.sum,
// which may differ between checkouts.
func golden(t *testing.T, dir, file string) {
	t.Helper()
	var all strings.Builder
	found := look(t, dir)
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if strings.HasSuffix(path, "/") || path == "go.sum" || path == "go.mod" || generated(path) {
			continue
		}
		all.WriteString("-- " + path + " --\n" + found[path])
	}
	if *update {
		put(t, "testdata", file, all.String())
		return
	}
	if want := read(t, "testdata", file); all.String() != want {
		t.Errorf("the tree is not that of testdata/%s (-update writes it):\n%s", file, all.String())
	}
}
