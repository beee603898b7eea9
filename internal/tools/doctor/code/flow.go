package code

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// conditional tells whether the last of the nodes is only reached where a condition holds, or is in a
// function of its own. That an error is looked at is none: if err := f(); err != nil.
func conditional(node ast.Node, within []ast.Node) bool {
	below := node
	for i := len(within) - 1; i >= 0; i-- {
		switch above := within[i].(type) {
		case *ast.IfStmt:
			if below == above.Body || below == above.Else {
				return true
			}
		case *ast.CaseClause, *ast.CommClause, *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit:
			return true
		case *ast.BinaryExpr:
			if (above.Op == token.LAND || above.Op == token.LOR) && below == above.Y {
				return true
			}
		}
		below = within[i]
	}
	return false
}

// guarded tells whether a function may have returned before a node, for another reason than an error or
// that the object is being deleted.
func guarded(f *rule.Function, node ast.Node) bool {
	found := false
	ast.Inspect(f.Decl.Body, func(n ast.Node) bool {
		guard, ok := n.(*ast.IfStmt)
		if ok && guard.End() <= node.Pos() && returns(guard.Body) && !mentionsError(f.Info(), guard.Cond) && !mentionsDeletion(f, guard.Cond) {
			found = true
		}
		return !found
	})
	return found
}

func returns(block *ast.BlockStmt) bool {
	found := false
	ast.Inspect(block, func(n ast.Node) bool {
		_, is := n.(*ast.ReturnStmt)
		_, apart := n.(*ast.FuncLit)
		found = found || is
		return !found && !apart
	})
	return found
}

func mentionsError(info *types.Info, condition ast.Expr) bool {
	found := false
	ast.Inspect(condition, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && info.Uses[name] != nil {
			found = found || types.Identical(info.Uses[name].Type(), errorType)
		}
		return !found
	})
	return found
}

// mentionsDeletion tells a condition about the deletion of an object, be it by a function of the project.
func mentionsDeletion(f *rule.Function, condition ast.Expr) bool {
	if speaksOfDeletion(condition) {
		return true
	}
	for _, next := range f.Mentions {
		if callsFunction(f.Info(), condition, next) && speaksOfDeletion(next.Decl.Body) {
			return true
		}
	}
	return false
}

func speaksOfDeletion(node ast.Node) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			found = found || name.Name == "DeletionTimestamp" || name.Name == "GetDeletionTimestamp"
		}
		return !found
	})
	return found
}

// isNil tells nil.
func isNil(info *types.Info, e ast.Expr) bool {
	name, ok := ast.Unparen(e).(*ast.Ident)
	return ok && info.Uses[name] == types.Universe.Lookup("nil")
}

// errorType is the type of errors.
var errorType = types.Universe.Lookup("error").Type()

// failed is the variable err of a condition err != nil, nil where it is another condition.
func failed(info *types.Info, condition ast.Expr) types.Object {
	binary, ok := ast.Unparen(condition).(*ast.BinaryExpr)
	if !ok || binary.Op != token.NEQ || !isNil(info, binary.Y) {
		return nil
	}
	name, ok := ast.Unparen(binary.X).(*ast.Ident)
	if !ok || !types.Identical(info.TypeOf(name), errorType) {
		return nil
	}
	return info.Uses[name]
}

// uses tells whether a variable is used below a node.
func uses(info *types.Info, node ast.Node, object types.Object) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && info.Uses[name] == object {
			found = true
		}
		return !found
	})
	return found
}

// calls tells whether something below a node calls one of the functions of a package.
func calls(info *types.Info, node ast.Node, path string, names ...string) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && rule.Calls(info, call, path, names...) {
			found = true
		}
		return !found
	})
	return found
}

// anywhere tells whether one of the functions holds a call of a function of a package.
func anywhere(functions []*rule.Function, path string, names ...string) bool {
	for _, f := range functions {
		if calls(f.Info(), f.Decl.Body, path, names...) {
			return true
		}
	}
	return false
}

// request is the first request to the client below a node.
func request(info *types.Info, node ast.Node) *rule.Request {
	var found *rule.Request
	ast.Inspect(node, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && found == nil {
			found = rule.RequestOf(info, call)
		}
		return found == nil
	})
	return found
}

// add adds a finding at a node, which may be ignored above its function, too.
func add(s *rule.Subject, found *rule.Findings, f *rule.Function, node ast.Node, format string, values ...any) *rule.Finding {
	one := found.Add(s.Code.At(node), format, values...)
	one.Also = []rule.Place{s.Code.At(f.Decl)}
	return one
}

// short names a type as code does.
func short(name *types.TypeName) string {
	if name == nil {
		return "an object"
	}
	return name.Name()
}

// text is an expression as it is written, where that is short.
func text(e ast.Expr) string { return types.ExprString(e) }
