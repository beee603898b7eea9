package derive

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"
)

// source is an expression of the project, or one of its values.
type source struct {
	unit *unit
	expr ast.Expr
	// nth is the index among the values of a call, or of a range.
	nth int
	// ranged reports that the value is one of those that a loop ranges over.
	ranged bool
}

// index records where the values of the project's variables, fields and parameters come from, regardless of the order of
// execution.
type index struct {
	// values holds everything that is assigned to a variable, a field or a parameter.
	values map[types.Object][]source
	// bodies holds the functions of the project.
	bodies map[*types.Func]function
	// named holds the methods of the project by name, for calls through interfaces.
	named map[string][]*types.Func
	// converted holds the values that are converted to interfaces, except in calls of functions outside the project.
	converted []conversion
	// calls are all calls.
	calls []call
	// sets are the assignments to names and namespaces of objects.
	sets []fieldSet
	// inits holds the initial values of package variables.
	inits map[types.Object]source
}

// conversion is a value of the project that is converted to an interface.
type conversion struct {
	source
	to types.Type
}

// function is a function with its body.
type function struct {
	*unit
	decl *ast.FuncDecl
}

// call is a call of a named function or method.
type call struct {
	*unit
	*ast.CallExpr
	callee *types.Func
}

func (p *program) index() *index {
	x := &index{
		values: map[types.Object][]source{}, bodies: map[*types.Func]function{}, named: map[string][]*types.Func{}, inits: map[types.Object]source{},
	}
	for _, u := range p.units {
		for _, file := range u.Syntax {
			x.declare(u, file)
		}
	}
	for _, u := range p.units {
		for _, file := range u.Syntax {
			ast.Inspect(file, func(node ast.Node) bool {
				x.note(u, node)
				return true
			})
		}
	}
	return x
}

// declare records the functions of a file.
func (x *index) declare(u *unit, file *ast.File) {
	for _, declared := range file.Decls {
		decl, ok := declared.(*ast.FuncDecl)
		if !ok || decl.Body == nil {
			continue
		}
		if f, ok := u.info.Defs[decl.Name].(*types.Func); ok {
			x.bodies[f] = function{u, decl}
			if decl.Recv != nil {
				x.named[f.Name()] = append(x.named[f.Name()], f)
			}
		}
	}
}

// note records the data flow in a node.
func (x *index) note(u *unit, node ast.Node) {
	switch n := node.(type) {
	case *ast.AssignStmt:
		x.assign(u, n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if len(n.Values) == len(n.Names) {
				x.inits[u.info.Defs[name]] = source{unit: u, expr: n.Values[i]}
			}
		}
		var names []ast.Expr
		for _, name := range n.Names {
			names = append(names, name)
		}
		x.assign(u, names, n.Values)
	case *ast.RangeStmt:
		if n.Value != nil {
			x.flow(u, n.Value, source{unit: u, expr: n.X, nth: 1, ranged: true})
		}
		if n.Key != nil && n.Value == nil {
			x.flow(u, n.Key, source{unit: u, expr: n.X, ranged: true})
		}
	case *ast.CompositeLit:
		x.compose(u, n)
	case *ast.CallExpr:
		x.call(u, n)
	case *ast.FuncDecl:
		x.results(u, n.Type, n.Body)
	case *ast.FuncLit:
		x.results(u, n.Type, n.Body)
	}
}

func (x *index) assign(u *unit, to, from []ast.Expr) {
	for i, target := range to {
		switch {
		case len(from) == len(to):
			x.flow(u, target, source{unit: u, expr: from[i]})
		case len(from) == 1:
			x.flow(u, target, source{unit: u, expr: from[0], nth: i})
		}
	}
}

// flow records a value that is assigned to an expression.
func (x *index) flow(u *unit, to ast.Expr, from source) {
	if object := target(u, to); object != nil {
		x.values[object] = append(x.values[object], from)
	}
	x.set(u, to, from)
	x.convert(typeOf(u, to), from)
}

// target returns the variable or field of an expression. For an element, it is the variable or field that contains it.
func target(u *unit, of ast.Expr) types.Object {
	switch e := of.(type) {
	case *ast.ParenExpr:
		return target(u, e.X)
	case *ast.StarExpr:
		return target(u, e.X)
	case *ast.IndexExpr:
		return target(u, e.X)
	case *ast.Ident:
		if defined := u.info.Defs[e]; defined != nil {
			return defined
		}
		return u.info.Uses[e]
	case *ast.SelectorExpr:
		return u.info.Uses[e.Sel]
	}
	return nil
}

func typeOf(u *unit, of ast.Expr) types.Type {
	if ident, ok := of.(*ast.Ident); ok {
		if defined := u.info.Defs[ident]; defined != nil {
			return defined.Type()
		}
	}
	return u.info.TypeOf(of)
}

// convert records a value that is converted to an interface.
func (x *index) convert(to types.Type, from source) {
	if to == nil || !types.IsInterface(to) {
		return
	}
	if is := from.unit.info.TypeOf(from.expr); is != nil && !types.IsInterface(is) && objectOf(is) != nil {
		x.converted = append(x.converted, conversion{from, to})
	}
}

// compose records the values in a composite literal.
func (x *index) compose(u *unit, lit *ast.CompositeLit) {
	is := u.info.TypeOf(lit)
	if is == nil {
		return
	}
	switch under := underlying(is).(type) {
	case *types.Struct:
		for i, element := range lit.Elts {
			if pair, keyed := element.(*ast.KeyValueExpr); keyed {
				x.flow(u, pair.Key, source{unit: u, expr: pair.Value})
				continue
			}
			if i < under.NumFields() {
				x.values[under.Field(i)] = append(x.values[under.Field(i)], source{unit: u, expr: element})
				x.convert(under.Field(i).Type(), source{unit: u, expr: element})
			}
		}
	case *types.Slice:
		x.elements(u, under.Elem(), lit.Elts)
	case *types.Array:
		x.elements(u, under.Elem(), lit.Elts)
	case *types.Map:
		x.elements(u, under.Elem(), lit.Elts)
	}
}

func underlying(of types.Type) types.Type {
	if pointer, ok := types.Unalias(of).(*types.Pointer); ok {
		of = pointer.Elem()
	}
	return of.Underlying()
}

func (x *index) elements(u *unit, of types.Type, all []ast.Expr) {
	for _, element := range all {
		if pair, keyed := element.(*ast.KeyValueExpr); keyed {
			element = pair.Value
		}
		x.convert(of, source{unit: u, expr: element})
	}
}

// call records a call and, for functions of the project, its arguments.
func (x *index) call(u *unit, c *ast.CallExpr) {
	if u.info.Types[c.Fun].IsType() && len(c.Args) == 1 {
		x.convert(u.info.TypeOf(c), source{unit: u, expr: c.Args[0]})
		return
	}
	if isBuiltin(u, c, "append") {
		for _, arg := range c.Args[min(1, len(c.Args)):] {
			if list, ok := underlyingOf(u.info.TypeOf(c)).(*types.Slice); ok && !c.Ellipsis.IsValid() {
				x.convert(list.Elem(), source{unit: u, expr: arg})
			}
		}
		return
	}
	f := calleeOf(u, c)
	if f == nil {
		x.callOfValue(u, c)
		return
	}
	x.calls = append(x.calls, call{u, c, f})
	for _, one := range x.implementations(f) {
		signature := one.Type().(*types.Signature)
		for i, arg := range c.Args {
			if signature.Params().Len() == 0 {
				break
			}
			param := signature.Params().At(min(i, signature.Params().Len()-1))
			x.values[param] = append(x.values[param], source{unit: u, expr: arg})
			x.convert(elementIf(param.Type(), signature.Variadic() && i >= signature.Params().Len()-1), source{unit: u, expr: arg})
		}
	}
}

// callOfValue records the arguments of a call of a function value.
func (x *index) callOfValue(u *unit, c *ast.CallExpr) {
	signature, ok := underlyingOf(u.info.TypeOf(c.Fun)).(*types.Signature)
	for i, arg := range c.Args {
		if ok && i < signature.Params().Len() {
			x.convert(signature.Params().At(i).Type(), source{unit: u, expr: arg})
		}
	}
}

func underlyingOf(of types.Type) types.Type {
	if of == nil {
		return nil
	}
	return of.Underlying()
}

func elementIf(of types.Type, variadic bool) types.Type {
	if list, ok := of.(*types.Slice); ok && variadic {
		return list.Elem()
	}
	return of
}

// implementations returns the functions of the project that a call may call.
func (x *index) implementations(f *types.Func) []*types.Func {
	f = f.Origin()
	if _, own := x.bodies[f]; own {
		return []*types.Func{f}
	}
	if receiver := f.Type().(*types.Signature).Recv(); receiver != nil && types.IsInterface(receiver.Type()) {
		return slices.DeleteFunc(slices.Clone(x.named[f.Name()]), func(method *types.Func) bool { return !implements(method, f) })
	}
	return nil
}

// implements reports whether a method has the signature of an interface's method. Types are compared by their names, because a package may be
// loaded twice. A signature with type parameters is only compared by the number of its parameters and results.
func implements(method, of *types.Func) bool {
	is, want := method.Signature(), of.Signature()
	return sameTypes(is.Params(), want.Params()) && sameTypes(is.Results(), want.Results())
}

func sameTypes(a, b *types.Tuple) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		left, right := a.At(i).Type(), b.At(i).Type()
		if !generic(left) && !generic(right) && types.TypeString(left, nil) != types.TypeString(right, nil) {
			return false
		}
	}
	return true
}

// generic reports whether a type is a type parameter or made of one.
func generic(of types.Type) bool {
	switch is := types.Unalias(of).(type) {
	case *types.TypeParam:
		return true
	case *types.Pointer:
		return generic(is.Elem())
	case *types.Slice:
		return generic(is.Elem())
	case *types.Map:
		return generic(is.Key()) || generic(is.Elem())
	case *types.Named:
		for i := range is.TypeArgs().Len() {
			if generic(is.TypeArgs().At(i)) {
				return true
			}
		}
	}
	return false
}

// results records the values that a function returns as interfaces.
func (x *index) results(u *unit, of *ast.FuncType, body *ast.BlockStmt) {
	if of.Results == nil || body == nil {
		return
	}
	var is []types.Type
	for _, field := range of.Results.List {
		for range max(1, len(field.Names)) {
			is = append(is, u.info.TypeOf(field.Type))
		}
	}
	for _, values := range returnsOf(body) {
		for i, value := range values {
			if len(values) == len(is) {
				x.convert(is[i], source{unit: u, expr: value})
			}
		}
	}
}

// returnsOf returns the values that a function returns, without those of function literals inside it.
func returnsOf(body *ast.BlockStmt) [][]ast.Expr {
	var all [][]ast.Expr
	ast.Inspect(body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			all = append(all, n.Results)
		}
		return true
	})
	return all
}

func isBuiltin(u *unit, c *ast.CallExpr, name string) bool {
	ident, ok := ast.Unparen(c.Fun).(*ast.Ident)
	if !ok || ident.Name != name {
		return false
	}
	_, builtin := u.info.Uses[ident].(*types.Builtin)
	return builtin
}

// calleeOf returns the called function, or nil if a function value is called.
func calleeOf(u *unit, c *ast.CallExpr) *types.Func {
	found, _ := typeutil.Callee(u.info, c).(*types.Func)
	return found
}
