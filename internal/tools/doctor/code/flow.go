package code

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

// conditional reports whether a node is reached only under a condition, or is in a function literal. The check of an error is
// not a condition: if err := f(); err != nil.
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

// guarded reports whether a function may have returned before a node for a reason other than an error or the deletion of the
// object.
func guarded(f *rule.Function, node ast.Node) bool {
	return syntax.Any(f.Decl.Body, func(guard ast.Stmt) bool {
		if guard.End() > node.Pos() {
			return false
		}
		switch n := guard.(type) {
		case *ast.IfStmt:
			return returns(n.Body) && !exceptional(f, n, n.Cond) || n.Else != nil && returns(n.Else)
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			return returns(n)
		}
		return false
	})
}

// exceptional reports whether a condition of an if is true only after an error, or if the object is being deleted.
func exceptional(f *rule.Function, n *ast.IfStmt, condition ast.Expr) bool {
	switch x := ast.Unparen(condition).(type) {
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LOR:
			return exceptional(f, n, x.X) && exceptional(f, n, x.Y)
		case token.LAND:
			return exceptional(f, n, x.X) || exceptional(f, n, x.Y)
		case token.NEQ:
			return isNil(f.Info(), x.Y) && (isError(f.Info(), x.X) || mentionsDeletion(f, x.X))
		}
		return false
	case *ast.UnaryExpr:
		return x.Op == token.NOT && speaksOfDeletion(x.X)
	case *ast.CallExpr:
		return ownNotFound(f, n, x) || !speaksOfDeletion(x) && mentionsDeletion(f, x)
	}
	return false
}

// ownNotFound reports whether a condition is that the object of the reconcile does not exist.
func ownNotFound(f *rule.Function, n *ast.IfStmt, condition *ast.CallExpr) bool {
	if !rule.Calls(f.Info(), condition, apiErrors, "IsNotFound") || len(condition.Args) != 1 {
		return false
	}
	err := plain(f, condition.Args[0])
	if err == nil {
		return false
	}
	source := assigned(f, n, err)
	if source == nil {
		return false
	}
	got := request(f.Info(), source)
	return got != nil && got.Verb == "Get" && f.Parameter(f.Root(got.Call.Args[1]))
}

// always returns those of some functions that the project itself never calls, and the functions that each of their calls calls.
// Only calls that matter are followed.
func always(c *rule.Code, from []*rule.Function, matters func(f *rule.Function, call *ast.CallExpr, within []ast.Node) bool) []*rule.Function {
	called := map[*rule.Function]bool{}
	eachCall(c, func(f *rule.Function, call *ast.CallExpr) {
		if next := c.Called(f, call); next != f {
			called[next] = true
		}
	})
	all := slices.DeleteFunc(slices.Clone(from), func(f *rule.Function) bool { return called[f] })
	for i := 0; i < len(all); i++ {
		f := all[i]
		f.Inspect(func(node ast.Node, within []ast.Node) {
			call, ok := node.(*ast.CallExpr)
			if !ok || conditional(call, within) || guarded(f, call) || !matters(f, call, within) {
				return
			}
			next := c.Called(f, call)
			if next != nil && !slices.Contains(all, next) {
				all = append(all, next)
			}
		})
	}
	return all
}

func returns(part ast.Stmt) bool {
	found := false
	ast.Inspect(part, func(n ast.Node) bool {
		_, is := n.(*ast.ReturnStmt)
		_, apart := n.(*ast.FuncLit)
		found = found || is
		return !found && !apart
	})
	return found
}

func isError(info *types.Info, e ast.Expr) bool {
	t := info.TypeOf(e)
	return t != nil && types.Identical(t, errorType)
}

// mentionsDeletion reports whether a condition is about the deletion of an object, also through a function of the project.
func mentionsDeletion(f *rule.Function, condition ast.Expr) bool {
	if speaksOfDeletion(condition) {
		return true
	}
	return slices.ContainsFunc(f.Mentions, func(next *rule.Function) bool {
		return callsFunction(f.Info(), condition, next) && speaksOfDeletion(next.Decl.Body)
	})
}

func speaksOfDeletion(node ast.Node) bool {
	return syntax.Any(node, func(name *ast.Ident) bool {
		return name.Name == "DeletionTimestamp" || name.Name == "GetDeletionTimestamp"
	})
}

// isNil reports whether an expression is nil.
func isNil(info *types.Info, e ast.Expr) bool {
	name, ok := ast.Unparen(e).(*ast.Ident)
	return ok && info.Uses[name] == types.Universe.Lookup("nil")
}

// errorType is the type error.
var errorType = types.Universe.Lookup("error").Type()

// failed returns the variable err of a condition err != nil, or nil for any other condition.
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

// uses reports whether a node uses a variable.
func uses(info *types.Info, node ast.Node, object types.Object) bool {
	return syntax.Any(node, func(name *ast.Ident) bool { return info.Uses[name] == object })
}

// calls reports whether a node calls one of the named functions of a package.
func calls(info *types.Info, node ast.Node, path string, names ...string) bool {
	return syntax.Any(node, func(call *ast.CallExpr) bool { return rule.Calls(info, call, path, names...) })
}

// anywhere reports whether one of the functions calls one of the named functions of a package.
func anywhere(functions []*rule.Function, path string, names ...string) bool {
	return slices.ContainsFunc(functions, func(f *rule.Function) bool { return calls(f.Info(), f.Decl.Body, path, names...) })
}

// request returns the first request to the client below a node.
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

// add adds a finding at a node. A comment above its function can ignore it, too.
func add(s *rule.Subject, found *rule.Findings, f *rule.Function, node ast.Node, format string, values ...any) *rule.Finding {
	one := found.Add(s.Code.At(node), format, values...)
	one.Also = []rule.Place{s.Code.At(f.Decl)}
	return one
}

// short returns the name of a type as it is written in code.
func short(name *types.TypeName) string {
	if name == nil {
		return "an object"
	}
	return name.Name()
}

// text returns the source of an expression, shortened if it is long.
func text(e ast.Expr) string { return types.ExprString(e) }
