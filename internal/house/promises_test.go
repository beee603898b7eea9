package house

import (
	"go/ast"
	"strings"
	"testing"
)

// TestOnlyOnePlaceWritesStatus checks a guarantee of package reconcile: only one function writes a status.
func TestOnlyOnePlaceWritesStatus(t *testing.T) {
	t.Parallel()
	var writers []string
	for _, p := range sources(t) {
		if p.dir != "internal/runtime/reconcile" {
			continue
		}
		for _, file := range p.files {
			for _, declaration := range file.Decls {
				if f, ok := declaration.(*ast.FuncDecl); ok && writesStatus(f) {
					writers = append(writers, f.Name.Name)
				}
			}
		}
	}
	if len(writers) != 1 || writers[0] != "patchStatus" {
		t.Errorf("the status is written by %q, want patchStatus alone", writers)
	}
}

// writesStatus reports whether a function calls Status() and then Patch, Update or Apply.
func writesStatus(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		outer, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		call, ok := outer.X.(*ast.CallExpr)
		if !ok {
			return true
		}
		if inner, ok := call.Fun.(*ast.SelectorExpr); ok && inner.Sel.Name == "Status" && len(call.Args) == 0 &&
			(outer.Sel.Name == "Patch" || outer.Sel.Name == "Update" || outer.Sel.Name == "Apply") {
			found = true
		}
		return true
	})
	return found
}

// parts are the fields of a pass in which the results of steps are stored.
var parts = map[string]bool{"object": true, "version": true, "outside": true, "composed": true, "seen": true, "actions": true, "applied": true, "reported": true}

// TestOnlyTheListOfStepsWritesThePass checks that no step writes the result of another step: the list in steps.go stores the
// results of all steps. Declare has its own list, with a single step.
func TestOnlyTheListOfStepsWritesThePass(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, p := range sources(t) {
		if p.dir != "internal/runtime/reconcile" {
			continue
		}
		for _, file := range p.files {
			if strings.HasSuffix(fset.Position(file.Package).Filename, "/declare.go") {
				continue
			}
			checked++
			ast.Inspect(file, func(n ast.Node) bool {
				assignment, ok := n.(*ast.AssignStmt)
				if !ok {
					return true
				}
				for _, left := range assignment.Lhs {
					if selector, ok := left.(*ast.SelectorExpr); ok && isPass(selector.X) && parts[selector.Sel.Name] {
						t.Errorf("%s: p.%s is written by a step: return it, and let the list of steps store it", place(left.Pos()), selector.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if checked < 20 {
		t.Errorf("only %d files were checked", checked)
	}
}

// isPass reports whether an expression is the variable with the name that package reconcile always uses for its pass.
func isPass(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && name.Name == "p"
}
