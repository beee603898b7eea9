package derive

import (
	"go/ast"
	"go/types"
)

// tracer follows a value back to the types of objects that it may have.
type tracer struct {
	*program
	*index
	seen  map[ast.Expr]bool
	found map[*types.Named]bool
	// loose holds the sources of objects whose Go type allows any kind.
	loose []source
	// lost reports that a value could not be followed.
	lost bool
}

// trace finds the types that an object may have. If a value of an interface cannot be followed, it is assumed to be any
// object that is converted to this interface in the project.
func (p *program) trace(x *index, from source) *tracer {
	t := &tracer{program: p, index: x, seen: map[ast.Expr]bool{}, found: map[*types.Named]bool{}}
	t.follow(from)
	if t.lost && len(t.loose) == 0 {
		wanted := interfaceIn(from.unit.info.TypeOf(from.expr))
		for _, one := range x.converted {
			if wanted != nil && types.Identical(one.to, wanted) {
				t.follow(one.source)
			}
		}
	}
	return t
}

// interfaceIn returns the interface of a type or of the elements of a list. For a type parameter, it is the constraint.
func interfaceIn(of types.Type) types.Type {
	switch is := types.Unalias(of).(type) {
	case *types.Slice:
		return interfaceIn(is.Elem())
	case *types.TypeParam:
		return is.Constraint()
	case *types.Named:
		if types.IsInterface(is) {
			return is
		}
	case *types.Interface:
		return is
	}
	return nil
}

func (t *tracer) follow(from source) {
	if from.expr == nil || t.seen[from.expr] {
		return
	}
	t.seen[from.expr] = true
	of := from.unit.info.TypeOf(from.expr)
	if tuple, ok := of.(*types.Tuple); ok && from.nth < tuple.Len() {
		of = tuple.At(from.nth).Type()
	}
	if of == nil {
		t.lost = true
		return
	}
	if named := objectOf(of); named != nil {
		if loose(named) {
			t.loose = append(t.loose, from)
			return
		}
		t.found[named] = true
		return
	}
	t.into(from)
}

// into follows an expression whose type does not determine the object.
func (t *tracer) into(from source) {
	u := from.unit
	switch e := ast.Unparen(from.expr).(type) {
	case *ast.Ident:
		if e.Name != "nil" {
			t.variable(target(u, e))
		}
	case *ast.SelectorExpr:
		t.variable(u.info.Uses[e.Sel])
	case *ast.IndexExpr:
		t.follow(source{unit: u, expr: e.X})
	case *ast.SliceExpr:
		t.follow(source{unit: u, expr: e.X})
	case *ast.TypeAssertExpr:
		t.follow(source{unit: u, expr: e.X})
	case *ast.UnaryExpr:
		t.follow(source{unit: u, expr: e.X})
	case *ast.CompositeLit:
		for _, element := range e.Elts {
			if pair, keyed := element.(*ast.KeyValueExpr); keyed {
				element = pair.Value
			}
			t.follow(source{unit: u, expr: element})
		}
	case *ast.CallExpr:
		t.result(from, e)
	default:
		t.lost = true
	}
}

// variable follows all values that are assigned to a variable, a field or a parameter.
func (t *tracer) variable(of types.Object) {
	values := t.values[of]
	if of == nil || len(values) == 0 {
		t.lost = true
	}
	for _, value := range values {
		t.follow(value)
	}
}

// result follows the result of a call.
func (t *tracer) result(from source, c *ast.CallExpr) {
	u := from.unit
	if u.info.Types[c.Fun].IsType() || isBuiltin(u, c, "append") {
		t.all(u, c.Args)
		return
	}
	if lit, ok := ast.Unparen(c.Fun).(*ast.FuncLit); ok {
		t.returns(u, lit.Body, from.nth)
		return
	}
	f := calleeOf(u, c)
	if f == nil {
		t.lost = true
		return
	}
	bodies := t.implementations(f)
	for _, one := range bodies {
		t.returns(t.bodies[one].unit, t.bodies[one].decl.Body, from.nth)
	}
	if len(bodies) > 0 {
		return
	}
	// Functions outside the project that return a value based on others: slices.Concat, DeepCopyObject.
	if method, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && u.info.Selections[method] != nil {
		t.follow(source{unit: u, expr: method.X})
		return
	}
	if len(c.Args) == 0 {
		t.lost = true
	}
	t.all(u, c.Args)
}

func (t *tracer) all(u *unit, from []ast.Expr) {
	for _, one := range from {
		if _, function := u.info.TypeOf(one).(*types.Signature); !function {
			t.follow(source{unit: u, expr: one})
		}
	}
}

func (t *tracer) returns(u *unit, body *ast.BlockStmt, nth int) {
	for _, values := range returnsOf(body) {
		switch {
		case nth < len(values):
			t.follow(source{unit: u, expr: values[nth]})
		case len(values) == 1:
			t.follow(source{unit: u, expr: values[0], nth: nth})
		default:
			t.lost = true // named results
		}
	}
}
