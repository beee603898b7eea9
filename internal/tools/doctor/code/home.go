package code

import (
	"go/ast"
	"go/types"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// homes finds out which clients are the manager's, and not those of other clusters or without a cache. It follows clients
// through variables, parameters and fields.
type homes struct {
	code        *rule.Code
	reconcilers map[*types.TypeName]bool
	seen        map[ast.Expr]bool
}

func newHomes(c *rule.Code) *homes {
	h := &homes{code: c, reconcilers: map[*types.TypeName]bool{}, seen: map[ast.Expr]bool{}}
	for _, f := range c.Reconcilers() {
		h.reconcilers[receiver(f)] = true
	}
	return h
}

// clientOf returns the client of a request.
func clientOf(r *rule.Request) ast.Expr {
	if r.Client == nil {
		return r.Call.Args[1]
	}
	return r.Client
}

// has reports whether an expression is the manager's client. Unknown clients are not.
func (h *homes) has(f *rule.Function, e ast.Expr) bool {
	e = ast.Unparen(e)
	if h.seen[e] {
		return false
	}
	h.seen[e] = true
	defer delete(h.seen, e)
	switch x := e.(type) {
	case *ast.Ident:
		return h.variable(f, x)
	case *ast.SelectorExpr:
		return h.field(f, x)
	case *ast.UnaryExpr:
		return h.has(f, x.X)
	case *ast.CallExpr:
		selector, ok := x.Fun.(*ast.SelectorExpr)
		return ok && selector.Sel.Name == "GetClient" && rule.Callee(f.Info(), x) != nil && isManager(rule.Callee(f.Info(), x)) ||
			ok && selector.Sel.Name == "Status" && h.has(f, selector.X)
	}
	return false
}

// isManager reports whether a method is one of controller-runtime's manager, which is also a cluster.
func isManager(method *types.Func) bool {
	return method.Pkg() != nil && (method.Pkg().Path() == managerPackage || method.Pkg().Path() == rule.ControllerRuntime+"/pkg/cluster")
}

func (h *homes) variable(f *rule.Function, name *ast.Ident) bool {
	object := f.Info().ObjectOf(name)
	if object == nil {
		return false
	}
	if object == types.Object(f.Object.Signature().Recv()) {
		return h.embedded(f, typeName(object.Type()))
	}
	if f.Parameter(object) {
		return h.parameter(f, object)
	}
	set, other := false, false
	ast.Inspect(f.Decl.Body, func(node ast.Node) bool {
		n, ok := node.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for i, left := range n.Lhs {
			if plain(f, left) == object {
				set = true
				other = other || len(n.Lhs) != len(n.Rhs) || !h.has(f, n.Rhs[i])
			}
		}
		return true
	})
	return set && !other
}

// parameter reports whether all calls of a function pass the manager's client.
func (h *homes) parameter(f *rule.Function, parameter types.Object) bool {
	index, parameters := 0, f.Object.Signature().Params()
	for parameters.At(index) != parameter {
		index++
	}
	called, other := false, false
	eachCall(h.code, func(caller *rule.Function, call *ast.CallExpr) {
		if h.code.Called(caller, call) == f && index < len(call.Args) {
			called = true
			other = other || !h.has(caller, call.Args[index])
		}
	})
	return called && !other
}

// field reports whether a field holds the manager's client: the only client of a reconciler, or what is put into the field.
func (h *homes) field(f *rule.Function, selector *ast.SelectorExpr) bool {
	field, ok := f.Info().Uses[selector.Sel].(*types.Var)
	if !ok || !field.IsField() {
		return false
	}
	holder := typeName(f.Info().TypeOf(selector.X))
	if h.reconcilers[holder] && clients(holder) == 1 {
		return true
	}
	return field.Embedded() && h.reconcilers[holder] || h.put(field)
}

// embedded reports whether a type is a reconciler with an embedded client, or holds one.
func (h *homes) embedded(f *rule.Function, holder *types.TypeName) bool {
	if holder == nil {
		return false
	}
	if h.reconcilers[holder] {
		return true
	}
	structure, ok := holder.Type().Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i := range structure.NumFields() {
		if field := structure.Field(i); field.Embedded() && isClient(field.Type()) {
			return h.put(field)
		}
	}
	return false
}

// put reports whether all values of a field in composite literals are the manager's client.
func (h *homes) put(field *types.Var) bool {
	set, other := false, false
	for _, f := range h.code.Functions {
		ast.Inspect(f.Decl.Body, func(node ast.Node) bool {
			pair, ok := node.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if key, ok := pair.Key.(*ast.Ident); ok && f.Info().Uses[key] == field {
				set = true
				other = other || !h.has(f, pair.Value)
			}
			return true
		})
	}
	return set && !other
}

// clients counts the fields of a type that are clients.
func clients(holder *types.TypeName) int {
	structure, ok := holder.Type().Underlying().(*types.Struct)
	if !ok {
		return 0
	}
	count := 0
	for i := range structure.NumFields() {
		if isClient(structure.Field(i).Type()) {
			count++
		}
	}
	return count
}

func isClient(t types.Type) bool {
	return rule.IsType(t, rule.ClientPackage, "Client", "WithWatch", "Writer")
}
