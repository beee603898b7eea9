package house

import (
	"go/ast"
	"strings"
	"testing"
)

// TestOnlyOnePlaceWritesStatus holds what package reconcile promises: a status is written by one function.
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

// parts of a pass are what its steps find out.
var parts = map[string]bool{"object": true, "version": true, "outside": true, "composed": true, "seen": true, "actions": true, "applied": true, "reported": true}

// TestOnlyTheListOfStepsWritesThePass holds that no step writes what another step found out: the list in steps.go stores
// what each step returns. Declare has a list of its own, with a single step.
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

// isPass reports whether an expression is the variable that all of package reconcile calls its pass by.
func isPass(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && name.Name == "p"
}
