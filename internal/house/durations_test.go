package house

import (
	"go/ast"
	"path/filepath"
	"testing"
)

// TestDurationsAreInOnePlace checks that the durations of a package are in the variable timing in its file timing.go, so all
// durations can be read in one file. Exported durations are documented at their declarations.
func TestDurationsAreInOnePlace(t *testing.T) {
	t.Parallel()
	for _, p := range sources(t) {
		if p.dir == "" || p.dir == "local" || p.dir == "local/localtest" {
			continue // their files are the documentation of the API, and each has few durations
		}
		var found []string
		for _, file := range p.files {
			if filepath.Base(fset.Position(file.Package).Filename) != "timing.go" {
				found = append(found, durations(file)...)
			}
		}
		if len(found) > 1 {
			t.Errorf("package %s has the durations %v: move them to the variable timing in %s/timing.go", p.dir, found, p.dir)
		}
	}
}

// durations returns the places and names of the unexported durations at the top level of a file.
func durations(file *ast.File) []string {
	var found []string
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			values, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, value := range values.Values {
				if name := values.Names[i]; !name.IsExported() && isDuration(value) {
					found = append(found, place(name.Pos())+" "+name.Name)
				}
			}
		}
	}
	return found
}

// isDuration reports whether an expression is a multiple of a unit of package time.
func isDuration(value ast.Expr) bool {
	switch value := value.(type) {
	case *ast.BinaryExpr:
		return isDuration(value.X) || isDuration(value.Y)
	case *ast.ParenExpr:
		return isDuration(value.X)
	case *ast.SelectorExpr:
		of, ok := value.X.(*ast.Ident)
		units := map[string]bool{"Microsecond": true, "Millisecond": true, "Second": true, "Minute": true, "Hour": true}
		return ok && of.Name == "time" && units[value.Sel.Name]
	}
	return false
}
