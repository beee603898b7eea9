package derive

import (
	"go/ast"
	"go/types"
	"slices"
)

// fieldSet is an assignment to the name or namespace of an object: x.Name = value.
type fieldSet struct {
	of    types.Object
	field string
	source
}

// set records an assignment to the name or namespace of an object.
func (x *index) set(u *unit, to ast.Expr, from source) {
	field, ok := ast.Unparen(to).(*ast.SelectorExpr)
	if !ok || field.Sel.Name != "Name" && field.Sel.Name != "Namespace" {
		return
	}
	object := ast.Unparen(field.X)
	if inner, ok := object.(*ast.SelectorExpr); ok && inner.Sel.Name == "ObjectMeta" {
		object = ast.Unparen(inner.X)
	}
	if of := target(u, object); of != nil {
		x.sets = append(x.sets, fieldSet{of, field.Sel.Name, from})
	}
}

// metadataOf returns the values of a metadata field in the literals that create an object, and those that it is given afterwards.
func (d *deriving) metadataOf(s call, name string) []source {
	object := source{unit: s.unit, expr: argument(s, 0)}
	var all []source
	for _, lit := range d.made(object, map[ast.Expr]bool{}) {
		for _, metadata := range fieldsOf(lit, "ObjectMeta") {
			for _, made := range d.made(metadata, map[ast.Expr]bool{}) {
				all = append(all, fieldsOf(made, name)...)
			}
		}
	}
	variables := d.variables(object, map[ast.Expr]bool{})
	for _, one := range d.sets {
		if one.field == name && slices.Contains(variables, one.of) {
			all = append(all, one.source)
		}
	}
	for _, c := range d.calls {
		method, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
		if ok && c.callee.Name() == "Set"+name && slices.Contains(variables, target(c.unit, method.X)) {
			all = append(all, source{unit: c.unit, expr: argument(c, 0)})
		}
	}
	return all
}

// fieldsOf returns the value of a field in a composite literal, if it is there.
func fieldsOf(lit source, name string) (values []source) {
	composite, ok := lit.expr.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	for _, element := range composite.Elts {
		if pair, keyed := element.(*ast.KeyValueExpr); keyed && isKey(pair.Key, name) {
			values = append(values, source{unit: lit.unit, expr: pair.Value})
		}
	}
	return values
}

func isKey(of ast.Expr, name string) bool {
	ident, ok := of.(*ast.Ident)
	return ok && ident.Name == name
}

// elsewhere reports whether a child is, or may be, in another namespace than its owner.
func (d *deriving) elsewhere(s call) bool {
	return slices.ContainsFunc(d.metadataOf(s, "Namespace"), func(namespace source) bool { return !d.sameNamespace(namespace, map[ast.Expr]bool{}) })
}

// sameNamespace reports whether an expression is the namespace of an object: x.Namespace or x.GetNamespace(), or a variable with such values only.
func (d *deriving) sameNamespace(of source, seen map[ast.Expr]bool) bool {
	if of.expr == nil || seen[of.expr] {
		return true
	}
	seen[of.expr] = true
	switch e := ast.Unparen(of.expr).(type) {
	case *ast.Ident:
		values := d.values[target(of.unit, e)]
		return len(values) > 0 && !slices.ContainsFunc(values, func(value source) bool { return !d.sameNamespace(value, seen) })
	case *ast.SelectorExpr:
		if inner, ok := e.X.(*ast.SelectorExpr); ok && isState(inner) {
			return false
		}
		return e.Sel.Name == "Namespace" && !d.partVaries(source{unit: of.unit, expr: e.X}, map[ast.Expr]bool{})
	case *ast.CallExpr:
		method, ok := e.Fun.(*ast.SelectorExpr)
		return ok && method.Sel.Name == "GetNamespace"
	}
	return false
}

// renamed reports whether the name or namespace of a child depends on its owner's spec or status. If it changes, the child
// with the old name is deleted.
func (d *deriving) renamed(s call) bool {
	return slices.ContainsFunc(append(d.metadataOf(s, "Name"), d.metadataOf(s, "Namespace")...), func(name source) bool {
		return d.varies(name, map[ast.Expr]bool{})
	})
}

// isState reports whether an expression is the spec or status of an object.
func isState(of *ast.SelectorExpr) bool { return of.Sel.Name == "Spec" || of.Sel.Name == "Status" }

// varies reports whether a value depends on the spec or status of an object. It follows variables and functions of the project.
func (d *deriving) varies(from source, seen map[ast.Expr]bool) bool {
	if from.expr == nil || seen[from.expr] {
		return false
	}
	seen[from.expr] = true
	found := false
	ast.Inspect(from.expr, func(node ast.Node) bool {
		switch e := node.(type) {
		case *ast.SelectorExpr:
			found = found || isState(e) || d.partVaries(source{unit: from.unit, expr: e.X}, seen)
			return false
		case *ast.Ident:
			for _, value := range d.values[target(from.unit, e)] {
				found = found || d.varies(value, seen)
			}
		case *ast.CallExpr:
			found = found || d.resultVaries(source{unit: from.unit, expr: e, nth: from.nth}, seen)
		}
		return !found
	})
	return found
}

// partVaries reports whether a value whose field is read is part of a spec or status. Other fields of the same object do not matter.
func (d *deriving) partVaries(of source, seen map[ast.Expr]bool) bool {
	switch e := ast.Unparen(of.expr).(type) {
	case *ast.SelectorExpr:
		return isState(e) || d.partVaries(source{unit: of.unit, expr: e.X}, seen)
	case *ast.IndexExpr:
		return d.partVaries(source{unit: of.unit, expr: e.X}, seen)
	case *ast.UnaryExpr:
		return d.partVaries(source{unit: of.unit, expr: e.X}, seen)
	case *ast.StarExpr:
		return d.partVaries(source{unit: of.unit, expr: e.X}, seen)
	case *ast.Ident:
		for _, value := range d.values[target(of.unit, e)] {
			if !seen[value.expr] {
				seen[value.expr] = true
				if d.partVaries(value, seen) {
					return true
				}
			}
		}
	default:
		return d.varies(of, seen)
	}
	return false
}

// resultVaries reports whether the result of a function of the project depends on the spec or status of an object.
func (d *deriving) resultVaries(of source, seen map[ast.Expr]bool) bool {
	called, ok := of.expr.(*ast.CallExpr)
	if !ok {
		return false
	}
	f := calleeOf(of.unit, called)
	if f == nil {
		return false
	}
	for _, one := range d.implementations(f) {
		body := d.bodies[one]
		for _, values := range returnsOf(body.decl.Body) {
			if of.nth < len(values) && d.varies(source{unit: body.unit, expr: values[of.nth]}, seen) {
				return true
			}
		}
	}
	return false
}
