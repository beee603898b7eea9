package house

import (
	"go/ast"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuthorsFindAnExampleOfEverything requires that each exported function, type and method of the root package is used in one
// of its examples, which go doc and pkg.go.dev show with it. The methods of an interface are implemented there.
func TestAuthorsFindAnExampleOfEverything(t *testing.T) {
	t.Parallel()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, file := range all[""].tests {
		if strings.HasPrefix(filepath.Base(fset.Position(file.Package).Filename), "example") {
			ast.Inspect(file, func(n ast.Node) bool {
				if name, ok := n.(*ast.Ident); ok {
					shown[name.Name] = true
				}
				return true
			})
		}
	}
	exported := exportsOf(all[""])
	if len(exported) < 60 {
		t.Fatalf("found only %d exported names", len(exported))
	}
	for name, at := range exported {
		last := name[strings.LastIndex(name, ".")+1:]
		if !shown[last] {
			t.Errorf("%s: %s is used in no example of package operon: add one to example_author_test.go", at, name)
		}
	}
}

// exportsOf returns the exported functions, types, and methods of exported types of a package, with their places.
func exportsOf(p *pkg) map[string]string {
	found := map[string]string{}
	for _, file := range p.files {
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				name, of := d.Name.Name, ""
				if d.Recv != nil {
					of = receiverName(d.Recv.List[0].Type)
					name = of + "." + name
				}
				if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(of)) {
					found[name] = place(d.Pos())
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
						found[s.Name.Name] = place(s.Pos())
					}
				}
			}
		}
	}
	return found
}
