package code

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

var sharedState = &rule.Rule{
	Name: "shared-state", Severity: rule.Error,
	About:  "A map in the reconciler that concurrent reconciles write without a lock.",
	Reason: "Two concurrent writes crash the process; a concurrent write and read may do so.",
	Fix:    "guard it with a sync.Mutex, or use a sync.Map; or keep no state in the reconciler, because a restart loses it",
	Check: func(s *rule.Subject, found *rule.Findings) {
		if !concurrent(s.Code.Functions) {
			return
		}
		reached := s.Code.Reach(s.Code.Reconcilers()...)
		lasting := lastingTypes(s.Code, reached)
		for _, f := range reached {
			if !lasting[receiver(f)] || locks(f) {
				continue
			}
			f.Inspect(func(node ast.Node, _ []ast.Node) {
				if field := written(f, node); field != nil && !locksAbove(s, f) {
					add(s, found, f, node, "%s is written by concurrent reconciles", text(field))
				}
			})
		}
	},
}

// concurrent reports whether MaxConcurrentReconciles is greater than one or unknown.
func concurrent(functions []*rule.Function) bool {
	return slices.ContainsFunc(functions, func(f *rule.Function) bool {
		return syntax.Any(f.Decl.Body, func(pair *ast.KeyValueExpr) bool {
			value := f.Info().Types[pair.Value].Value
			return named(pair.Key, "MaxConcurrentReconciles") && (value == nil || constant.Compare(value, token.GTR, constant.MakeInt64(1)))
		})
	})
}

// lastingTypes returns the types of values that all reconciles share: reconcilers, and what their fields hold. It leaves out
// Kubernetes objects, and types of which a reconcile makes values of its own.
func lastingTypes(c *rule.Code, reached []*rule.Function) map[*types.TypeName]bool {
	made := map[*types.TypeName]bool{}
	for _, f := range reached {
		ast.Inspect(f.Decl.Body, func(node ast.Node) bool {
			if e, ok := node.(ast.Expr); ok && makesValue(f.Info(), e) {
				made[typeName(f.Info().TypeOf(e))] = true
			}
			return true
		})
	}
	lasting := map[*types.TypeName]bool{}
	for _, f := range c.Reconcilers() {
		addLasting(lasting, made, f.Object.Signature().Recv().Type())
	}
	return lasting
}

// addLasting adds a type, and the types of its fields.
func addLasting(all, made map[*types.TypeName]bool, t types.Type) {
	name := typeName(t)
	if name == nil || all[name] || made[name] || rule.IsObject(name.Type()) {
		return
	}
	structure, ok := name.Type().Underlying().(*types.Struct)
	if !ok {
		return
	}
	all[name] = true
	for i := range structure.NumFields() {
		addLasting(all, made, structure.Field(i).Type())
	}
}

// makesValue reports whether an expression makes a value: T{}, or new(T).
func makesValue(info *types.Info, e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		name, ok := x.Fun.(*ast.Ident)
		return ok && info.Uses[name] == types.Universe.Lookup("new")
	}
	return false
}

// receiver returns the type whose method a function is, or nil for a function without a receiver.
func receiver(f *rule.Function) *types.TypeName {
	if f.Object.Signature().Recv() == nil {
		return nil
	}
	return typeName(f.Object.Signature().Recv().Type())
}

// typeName returns the name of a type, or of the type that it points to. It is the same for all instances of a generic type.
func typeName(t types.Type) *types.TypeName {
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok {
		return nil
	}
	return named.Origin().Obj()
}

func locks(f *rule.Function) bool {
	return calls(f.Info(), f.Decl.Body, "sync", "Lock")
}

func locksAbove(s *rule.Subject, f *rule.Function) bool {
	return slices.ContainsFunc(s.Code.Callers(f, s.Code.Functions), locks)
}

// written returns the map in a field of the receiver that a node writes to.
func written(f *rule.Function, node ast.Node) ast.Expr {
	var places []ast.Expr
	switch n := node.(type) {
	case *ast.AssignStmt:
		places = n.Lhs
	case *ast.IncDecStmt:
		places = []ast.Expr{n.X}
	case *ast.CallExpr:
		if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "delete" && len(n.Args) == 2 {
			return ofReceiver(f, n.Args[0])
		}
	}
	for _, place := range places {
		if index, ok := ast.Unparen(place).(*ast.IndexExpr); ok {
			if field := ofReceiver(f, index.X); field != nil {
				return field
			}
		}
	}
	return nil
}

// ofReceiver returns e if it is a map in a field of the receiver.
func ofReceiver(f *rule.Function, e ast.Expr) ast.Expr {
	selector, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok || f.Object.Signature().Recv() == nil || f.Root(selector) != types.Object(f.Object.Signature().Recv()) {
		return nil
	}
	if _, isMap := f.Info().TypeOf(selector).Underlying().(*types.Map); !isMap {
		return nil
	}
	return selector
}
