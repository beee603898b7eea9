package derive

import (
	"go/ast"
	"go/types"
	"slices"
)

// made finds the composite literals that create an object.
func (d *deriving) made(from source, seen map[ast.Expr]bool) []source {
	all, _ := d.origins(from, seen)
	return all
}

// origins finds the composite literals that create an object. If it may also be created elsewhere, whole is false.
func (d *deriving) origins(from source, seen map[ast.Expr]bool) (all []source, whole bool) {
	if from.expr == nil || seen[from.expr] {
		return nil, true
	}
	seen[from.expr] = true
	if values, ok := d.within(from); ok {
		return d.originsOf(values, seen)
	}
	switch e := ast.Unparen(from.expr).(type) {
	case *ast.CompositeLit:
		return []source{from}, true
	case *ast.Ident, *ast.SelectorExpr:
		values := d.values[target(from.unit, e)]
		all, whole = d.originsOf(values, seen)
		return all, whole && (len(values) > 0 || isZero(from))
	}
	return nil, false
}

func (d *deriving) originsOf(values []source, seen map[ast.Expr]bool) (all []source, whole bool) {
	whole = true
	for _, value := range values {
		made, every := d.origins(value, seen)
		all, whole = append(all, made...), whole && every
	}
	return all, whole
}

// isZero reports whether a variable without a value has the zero value of an object.
func isZero(from source) bool {
	named, ok := types.Unalias(from.unit.info.TypeOf(from.expr)).(*types.Named)
	if !ok {
		return from.unit.info.Types[from.expr].IsNil()
	}
	_, is := named.Underlying().(*types.Struct)
	return is
}

// within returns the expressions that the value of an expression comes from: the elements of a list, what a pointer points to, the results
// of a function. It returns false if the value does not come from others in such a way.
func (d *deriving) within(from source) (values []source, ok bool) {
	u := from.unit
	switch e := ast.Unparen(from.expr).(type) {
	case *ast.UnaryExpr:
		return in(u, e.X), true
	case *ast.StarExpr:
		return in(u, e.X), true
	case *ast.IndexExpr:
		return in(u, e.X), true
	case *ast.SliceExpr:
		return in(u, e.X), true
	case *ast.TypeAssertExpr:
		return in(u, e.X), true
	case *ast.CompositeLit:
		if !isList(u.info.TypeOf(e)) {
			return nil, false
		}
		for _, element := range e.Elts {
			if pair, keyed := element.(*ast.KeyValueExpr); keyed {
				element = pair.Value
			}
			values = append(values, source{unit: u, expr: element})
		}
		return values, true
	case *ast.CallExpr:
		return d.resultsOf(from, e)
	}
	return nil, false
}

func in(u *unit, all ...ast.Expr) (values []source) {
	for _, one := range all {
		values = append(values, source{unit: u, expr: one})
	}
	return values
}

// valuesIn returns those of some expressions that are no types.
func valuesIn(u *unit, all []ast.Expr) []source {
	return slices.DeleteFunc(in(u, all...), func(one source) bool { return !u.info.Types[one.expr].IsValue() })
}

// isList reports whether a value of a type contains objects. The fields of an unstructured object are not a list.
func isList(of types.Type) bool {
	switch of := underlyingOf(of).(type) {
	case *types.Slice, *types.Array:
		return true
	case *types.Map:
		fields, any := of.Elem().Underlying().(*types.Interface)
		return !any || !fields.Empty()
	}
	return false
}

// resultsOf is within for a call.
func (d *deriving) resultsOf(from source, c *ast.CallExpr) (values []source, ok bool) {
	u := from.unit
	if u.info.Types[c.Fun].IsType() || isBuiltin(u, c, "append") {
		return in(u, c.Args...), true
	}
	if isBuiltin(u, c, "make") || isBuiltin(u, c, "new") {
		return valuesIn(u, c.Args), true
	}
	if lit, is := ast.Unparen(c.Fun).(*ast.FuncLit); is {
		return returned(u, lit.Body, from.nth)
	}
	if method, is := ast.Unparen(c.Fun).(*ast.SelectorExpr); is && (method.Sel.Name == "DeepCopy" || method.Sel.Name == "DeepCopyObject") {
		return in(u, method.X), true
	}
	f := calleeOf(u, c)
	if f == nil {
		return nil, false
	}
	if bodies := d.implementations(f); len(bodies) > 0 {
		ok = true
		for _, one := range bodies {
			body := d.bodies[one]
			some, all := returned(body.unit, body.decl.Body, from.nth)
			values, ok = append(values, some...), ok && all
		}
		return values, ok
	}
	if isOf(f, "slices") || isOf(f, "maps") {
		return in(u, c.Args...), true
	}
	return nil, false
}

// returned returns the nth result of a function. It returns false if the result has a name and is not in the return statements.
func returned(u *unit, body *ast.BlockStmt, nth int) (values []source, ok bool) {
	ok = true
	for _, results := range returnsOf(body) {
		switch {
		case nth < len(results):
			values = append(values, source{unit: u, expr: results[nth]})
		case len(results) == 1: // of another call, or of a list that is ranged over
			values = append(values, source{unit: u, expr: results[0], nth: nth})
		default:
			ok = false
		}
	}
	return values, ok
}

// variables returns the variables that hold an object, including those in lists that contain it, and in functions that return it.
func (d *deriving) variables(from source, seen map[ast.Expr]bool) []types.Object {
	if from.expr == nil || seen[from.expr] {
		return nil
	}
	seen[from.expr] = true
	values, _ := d.within(from)
	var all []types.Object
	if of := target(from.unit, ast.Unparen(from.expr)); of != nil && len(values) == 0 {
		values, all = d.values[of], append(all, of)
	}
	for _, value := range values {
		all = append(all, d.variables(value, seen)...)
	}
	return all
}

// untraced reports whether an object comes from a loop over objects of which some are created outside the project's code.
func (d *deriving) untraced(from source, seen map[ast.Expr]bool) bool {
	if from.expr == nil || seen[from.expr] {
		return false
	}
	seen[from.expr] = true
	if from.ranged {
		_, whole := d.origins(from, map[ast.Expr]bool{})
		return !whole
	}
	values, ok := d.within(from)
	if !ok {
		values = d.values[target(from.unit, ast.Unparen(from.expr))]
	}
	for _, value := range values {
		if d.untraced(value, seen) {
			return true
		}
	}
	return false
}
