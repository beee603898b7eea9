package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	root       = "../.."
	modulePath = "github.com/operon-framework/operon"
)

// pkg is a directory with Go files, in any module of the repository.
type pkg struct {
	dir   string // relative to the root of the repository; "" for the root itself
	files []*ast.File
	tests []*ast.File
}

func (p *pkg) name() string {
	if len(p.files) > 0 {
		return p.files[0].Name.Name
	}
	return strings.TrimSuffix(p.tests[0].Name.Name, "_test")
}

// comment returns the package comment, or "".
func (p *pkg) comment() string {
	for _, file := range p.files {
		if file.Doc != nil {
			return file.Doc.Text()
		}
	}
	return ""
}

// module is one of the repository's modules and its directory.
type module struct{ name, dir string }

// modules are the modules to which the rules apply. Modules below testdata are inputs of tests.
var modules = []module{{"root", ""}, {"cluster", "cluster"}, {"bench", "bench"}, {"olm", "olm"}}

var fset = token.NewFileSet()

// packages returns all packages of the repository by directory. They are parsed once for all tests.
var packages = sync.OnceValues(func() (map[string]*pkg, error) {
	found := map[string]*pkg{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && skipped(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		parsed, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.ToSlash(rel), ".")
		if found[dir] == nil {
			found[dir] = &pkg{dir: dir}
		}
		p := found[dir]
		switch {
		case strings.HasSuffix(file, "_test.go"):
			p.tests = append(p.tests, parsed)
		case !ast.IsGenerated(parsed):
			p.files = append(p.files, parsed)
		}
		return nil
	})
	return found, err
})

// skipped reports whether a directory contains no sources of the project: inputs of tests, and hidden directories.
func skipped(name string) bool {
	return name == "testdata" || name == "bin" || strings.HasPrefix(name, ".")
}

// sources returns the packages that contain more than tests, sorted by directory. The examples are separate operator projects,
// and follow the rules for authors (see TestExamplesImportWhatAuthorsCan).
func sources(t *testing.T) []*pkg {
	t.Helper()
	return selected(t, func(p *pkg) bool { return len(p.files) > 0 && !isExample(p.dir) })
}

func selected(t *testing.T, keep func(*pkg) bool) []*pkg {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("found only %d packages", len(all))
	}
	var kept []*pkg
	for _, p := range all {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	slices.SortFunc(kept, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return kept
}

func isExample(dir string) bool { return strings.HasPrefix(dir, "examples/") }

// imports returns the directories of the repository's own packages that a file imports.
func imports(file *ast.File) []string {
	var dirs []string
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if imported == modulePath {
			dirs = append(dirs, "")
		}
		if dir, own := strings.CutPrefix(imported, modulePath+"/"); own {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// place returns a position as FILE:LINE, relative to the root of the repository.
func place(pos token.Pos) string {
	position := fset.Position(pos)
	if rel, err := filepath.Rel(root, position.Filename); err == nil {
		position.Filename = rel
	}
	position.Column = 0
	return position.String()
}
