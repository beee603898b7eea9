package house

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// statusWriters are the only functions of the runtime that write a status: of an operator's objects, and of CustomResourceDefinitions.
var statusWriters = []string{"internal/runtime/migrate.Strike", "internal/runtime/reconcile.patchStatus"}

// TestOnlyOnePlaceWritesStatus checks a guarantee of package reconcile: only one function writes the status of an object.
func TestOnlyOnePlaceWritesStatus(t *testing.T) {
	t.Parallel()
	var writers []string
	for _, p := range sources(t) {
		if p.dir != "" && !strings.HasPrefix(p.dir, "internal/runtime") {
			continue
		}
		for _, file := range p.files {
			for _, declaration := range file.Decls {
				if f, ok := declaration.(*ast.FuncDecl); ok && writesStatus(f) {
					writers = append(writers, p.dir+"."+f.Name.Name)
				}
			}
		}
	}
	if slices.Sort(writers); !slices.Equal(writers, statusWriters) {
		t.Errorf("a status is written by %q, want %q alone", writers, statusWriters)
	}
}

// statusCallers are the only functions of package reconcile that have a status written: the steps report and journal.
var statusCallers = []string{"journal.go: patchStatus", "report.go: writeStatus", "report.go: writeStatus", "status.go: patchStatus"}

// TestOnlyTwoStepsHaveAStatusWritten checks what docs/architecture.md says about who writes the status.
func TestOnlyTwoStepsHaveAStatusWritten(t *testing.T) {
	t.Parallel()
	var callers []string
	for _, p := range sources(t) {
		if p.dir != "internal/runtime/reconcile" {
			continue
		}
		for _, file := range p.files {
			name, _, _ := strings.Cut(path.Base(place(file.Package)), ":")
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if called, ok := call.Fun.(*ast.SelectorExpr); ok && (called.Sel.Name == "patchStatus" || called.Sel.Name == "writeStatus") {
					callers = append(callers, name+": "+called.Sel.Name)
				}
				return true
			})
		}
	}
	if slices.Sort(callers); !slices.Equal(callers, statusCallers) {
		t.Errorf("a status is written for %q, want %q", callers, statusCallers)
	}
}

// writesStatus reports whether a function calls Status(), or SubResource("status"), and then Patch, Update or Apply, or keeps the writer.
func writesStatus(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			found = found || isStatusWriter(n.X) && (n.Sel.Name == "Patch" || n.Sel.Name == "Update" || n.Sel.Name == "Apply")
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Rhs, isStatusWriter)
		}
		return true
	})
	return found
}

// isStatusWriter reports whether an expression is a call of Status() or SubResource("status").
func isStatusWriter(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	called, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if len(call.Args) == 0 {
		return called.Sel.Name == "Status"
	}
	name, ok := call.Args[0].(*ast.BasicLit)
	return ok && called.Sel.Name == "SubResource" && name.Value == `"status"`
}

// partsOf returns the fields of a pass in which the list of steps stores results: the first arguments of into.
func partsOf(p *pkg) map[string]bool {
	parts := map[string]bool{}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			if called, ok := call.Fun.(*ast.Ident); !ok || called.Name != "into" {
				return true
			}
			if address, ok := call.Args[0].(*ast.UnaryExpr); ok {
				if field, ok := address.X.(*ast.SelectorExpr); ok && isPass(field.X) {
					parts[field.Sel.Name] = true
				}
			}
			return true
		})
	}
	return parts
}

// TestOnlyTheListOfStepsWritesThePass checks that no step writes the result of another step: the list in steps.go stores the
// results of all steps. Declare has its own list, with a single step.
func TestOnlyTheListOfStepsWritesThePass(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, p := range sources(t) {
		if p.dir != "internal/runtime/reconcile" {
			continue
		}
		parts := partsOf(p)
		if len(parts) < 8 {
			t.Errorf("the list of steps stores only %v", parts)
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

// TestEachStepIsInItsFile checks a statement in docs/architecture.md: each step of a reconcile is in a file with its
// name.
func TestEachStepIsInItsFile(t *testing.T) {
	t.Parallel()
	var steps []string
	declared := map[string]bool{} // functions, as FILE.NAME
	for _, p := range sources(t) {
		if p.dir != "internal/runtime/reconcile" {
			continue
		}
		for _, file := range p.files {
			name := strings.TrimSuffix(path.Base(fset.Position(file.Package).Filename), ".go")
			for _, declaration := range file.Decls {
				f, ok := declaration.(*ast.FuncDecl)
				if !ok {
					continue
				}
				declared[name+"."+f.Name.Name] = true
				if name == "steps" && f.Name.Name == "steps" {
					steps = methodsOf(f, "r")
				}
			}
		}
	}
	if len(steps) < 10 {
		t.Fatalf("steps.go lists only %q", steps)
	}
	for _, step := range steps {
		if !declared[step+"."+step] {
			t.Errorf("the step %s is not in %s.go", step, step)
		}
	}
}

// methodsOf returns the methods of a receiver to which a function refers, in order.
func methodsOf(f *ast.FuncDecl, receiver string) []string {
	var names []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == receiver {
				names = append(names, selector.Sel.Name)
			}
		}
		return true
	})
	return names
}

// TestOnlyOperontestHasAnAPIInMemory checks a statement in SCOPE.md: only package operontest simulates an API. The tests that simulate one
// are about errors and interleavings that a real API server does not produce on demand.
func TestOnlyOperontestHasAnAPIInMemory(t *testing.T) {
	t.Parallel()
	for _, p := range selected(t, func(*pkg) bool { return true }) {
		if p.dir == "operontest" {
			continue
		}
		for _, file := range slices.Concat(p.files, p.tests) {
			name := strings.TrimPrefix(fset.Position(file.Package).Filename, root+"/")
			for _, spec := range file.Imports {
				if strings.HasSuffix(spec.Path.Value, `/fake"`) && !simulations[name] {
					t.Errorf("%s imports %s: test with the API server of package localtest", name, spec.Path.Value)
				}
			}
		}
	}
}

// simulations are the tests with a simulated API.
var simulations = map[string]bool{
	"durable/steps/made_test.go":           true,
	"internal/runtime/action/turn_test.go": true,
	"internal/runtime/apply/apply_test.go": true,
}

// TestGitRunsWithoutConfiguration checks what docs/security.md says: repositories of strangers can make git run programs, which package git turns off.
func TestGitRunsWithoutConfiguration(t *testing.T) {
	t.Parallel()
	for _, p := range sources(t) {
		if p.dir == "internal/tools/git" || holds("bench", p.dir) { // benchmarks look at this repository alone
			continue
		}
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				called, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || called.Sel.Name != "Command" && called.Sel.Name != "CommandContext" {
					return true
				}
				for _, argument := range call.Args {
					if program, ok := argument.(*ast.BasicLit); ok && program.Value == `"git"` {
						t.Errorf("%s: run git through internal/tools/git", place(n.Pos()))
					}
				}
				return true
			})
		}
	}
}
