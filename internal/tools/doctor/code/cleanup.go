package code

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

var deleteNotFound = &rule.Rule{
	Name: "delete-not-found", Severity: rule.Error,
	About:  "A cleanup that fails if the object to delete is already gone, and therefore never removes the finalizer.",
	Reason: "If the operator exits between the deletion and the removal of the finalizer, it finds nothing to delete from then on, and the object stays in deletion forever.",
	Fix:    "client.IgnoreNotFound(err): an object that is gone is the desired result",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Reconcilers()...) {
			if !calls(f.Info(), f.Decl.Body, rule.UtilPackage, "RemoveFinalizer") {
				continue
			}
			f.Inspect(func(node ast.Node, within []ast.Node) {
				if n, ok := node.(*ast.IfStmt); ok && insists(f, n) && precedesRemoval(f, n, within) {
					add(s, found, f, n, "%s does not remove the finalizer if the object is already gone", f.Object.Name())
				}
			})
		}
	},
}

// insists reports whether an if returns the error of a Delete unchanged.
func insists(f *rule.Function, n *ast.IfStmt) bool {
	err := failed(f.Info(), n.Cond)
	if err == nil || n.Init == nil {
		return false
	}
	r := request(f.Info(), n.Init)
	if r == nil || r.Verb != "Delete" || !byName(f, r.Object) || calls(f.Info(), n.Init, rule.ClientPackage, "IgnoreNotFound") {
		return false
	}
	if calls(f.Info(), n.Body, apiErrors, "IsNotFound", "ReasonForError") || calls(f.Info(), n.Body, rule.ClientPackage, "IgnoreNotFound") {
		return false
	}
	last, ok := n.Body.List[len(n.Body.List)-1].(*ast.ReturnStmt)
	return ok && uses(f.Info(), last, err)
}

// precedesRemoval reports whether a node is reached, except after errors, in each call that then removes the finalizer.
func precedesRemoval(f *rule.Function, node ast.Node, within []ast.Node) bool {
	for i := len(within) - 1; i >= 0; i-- {
		switch block := within[i].(type) {
		case *ast.BlockStmt:
			if removesAfter(f, block, node) {
				return true
			}
			if _, ends := block.List[len(block.List)-1].(*ast.ReturnStmt); ends {
				return false
			}
		case *ast.IfStmt:
			if !speaksOfDeletion(block.Cond) && !calls(f.Info(), block.Cond, rule.UtilPackage, "ContainsFinalizer") {
				return false
			}
		case *ast.RangeStmt:
		default:
			return false
		}
	}
	return false
}

// removesAfter reports whether a statement of a block after a node removes the finalizer.
func removesAfter(f *rule.Function, block *ast.BlockStmt, node ast.Node) bool {
	return slices.ContainsFunc(block.List, func(statement ast.Stmt) bool {
		return statement.Pos() > node.End() && calls(f.Info(), statement, rule.UtilPackage, "RemoveFinalizer")
	})
}

// byName reports whether an object that is deleted was only made to name it. One that was read exists.
func byName(f *rule.Function, object ast.Expr) bool {
	if address, ok := ast.Unparen(object).(*ast.UnaryExpr); ok {
		object = address.X
	}
	if makesValue(f.Info(), ast.Unparen(object)) {
		return true
	}
	variable := plain(f, object)
	if variable == nil || f.Parameter(variable) {
		return false
	}
	read := false
	f.Requests(func(r *rule.Request, _ []ast.Node) {
		read = read || !r.Writes() && f.Root(r.Object) == variable
	})
	return !read && isMade(f, variable)
}

// isMade reports whether a variable is only set to new values.
func isMade(f *rule.Function, variable types.Object) bool {
	made := false
	for node := range ast.Preorder(f.Decl.Body) {
		switch n := node.(type) {
		case *ast.ValueSpec:
			made = made || len(n.Values) == 0 && slices.ContainsFunc(n.Names, func(name *ast.Ident) bool { return f.Info().Defs[name] == variable })
		case *ast.RangeStmt:
			if n.Value != nil && plain(f, n.Value) == variable {
				return makesValue(f.Info(), n.X)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if plain(f, left) != variable {
					continue
				}
				if len(n.Rhs) != len(n.Lhs) || !isNew(f, n.Rhs[i]) {
					return false
				}
				made = true
			}
		}
	}
	return made
}

// isNew reports whether an expression makes a value, also in a function of the project.
func isNew(f *rule.Function, e ast.Expr) bool {
	e = ast.Unparen(e)
	if address, ok := e.(*ast.UnaryExpr); ok {
		e = ast.Unparen(address.X)
	}
	if makesValue(f.Info(), e) {
		return true
	}
	return slices.ContainsFunc(f.Mentions, func(next *rule.Function) bool { return callsFunction(f.Info(), e, next) && returnsNew(next) })
}

// returnsNew reports whether a function returns a variable or an expression that makes a value, and nothing else.
func returnsNew(f *rule.Function) bool {
	return !syntax.Any(f.Decl.Body, func(last *ast.ReturnStmt) bool {
		if len(last.Results) == 0 {
			return true
		}
		made := ast.Unparen(last.Results[0])
		if address, ok := made.(*ast.UnaryExpr); ok {
			made = ast.Unparen(address.X)
		}
		variable := plain(f, made)
		return !makesValue(f.Info(), made) && (variable == nil || f.Parameter(variable) || !isMade(f, variable))
	})
}
