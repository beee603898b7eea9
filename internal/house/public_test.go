package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Limits on the files and packages that a visitor sees first.
const (
	maxRootDirectories = 18
	maxRootFiles       = 25
	maxPublic          = 25
)

func TestTheRootIsShort(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	directories, files := 0, 0
	for _, entry := range entries {
		switch {
		case strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin":
		case entry.IsDir():
			directories++
		case strings.HasSuffix(entry.Name(), ".go"):
			files++
		}
	}
	if directories > maxRootDirectories || files > maxRootFiles {
		t.Errorf("the root has %d directories and %d Go files, the limits are %d and %d", directories, files, maxRootDirectories, maxRootFiles)
	}
}

// public reports whether code outside of this repository can import a package.
func public(p *pkg) bool {
	return p.name() != "main" && !strings.Contains("/"+p.dir+"/", "/internal/")
}

// TestPublicPackages checks that there are few packages that authors can import, each with an example.
func TestPublicPackages(t *testing.T) {
	t.Parallel()
	count := 0
	for _, p := range sources(t) {
		if !public(p) {
			continue
		}
		count++
		if !hasExample(p) {
			t.Errorf("authors can import package %q, and it has no example: add an Example function", p.dir)
		}
	}
	if count > maxPublic {
		t.Errorf("authors can import %d packages, the limit is %d: move some below internal", count, maxPublic)
	}
	t.Logf("%d packages can be imported", count)
}

func hasExample(p *pkg) bool {
	for _, file := range p.tests {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example") {
				return true
			}
		}
	}
	return false
}

// TestExamplesImportWhatAuthorsCan checks that an example imports only packages that an author could import in a separate
// project.
func TestExamplesImportWhatAuthorsCan(t *testing.T) {
	t.Parallel()
	for _, p := range selected(t, func(p *pkg) bool { return isExample(p.dir) }) {
		for _, file := range append(p.files, p.tests...) {
			for _, imported := range imports(file) {
				if strings.Contains("/"+imported+"/", "/internal/") && !strings.HasPrefix(imported, filepath.Dir(p.dir)) {
					t.Errorf("%s: an example imports %q, which authors cannot", place(file.Package), imported)
				}
			}
		}
	}
}
