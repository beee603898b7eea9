package derive

import (
	"go/ast"
	"go/token"
	"go/types"
)

// site is a call that a composer reaches. If maybe is set, some reconciles may skip it.
type site struct {
	call
	maybe bool
}

// walker visits everything that a composer's methods do.
type walker struct {
	*deriving
	// visited holds the visited functions, and whether some reconciles may skip their calls.
	visited map[*types.Func]bool
	sites   map[*ast.CallExpr]*site
	order   []*site
	entered map[types.Object]bool
}

// walk finds the calls that a composer reaches.
func (d *deriving) walk(c *composer) []*site {
	w := &walker{deriving: d, visited: map[*types.Func]bool{}, sites: map[*ast.CallExpr]*site{}, entered: map[types.Object]bool{}}
	for _, role := range roles {
		if method := c.methods[role]; method != nil {
			w.function(method, false)
		}
	}
	return w.order
}

func (w *walker) function(f *types.Func, maybe bool) {
	for _, one := range w.implementations(f) {
		before, visited := w.visited[one]
		if visited && (before || !maybe) {
			continue
		}
		w.visited[one] = maybe
		body := w.bodies[one]
		w.block(body.unit, body.decl.Body.List, maybe)
	}
}

// block visits statements. After a statement that may end the function successfully, the following ones may be skipped.
func (w *walker) block(u *unit, list []ast.Stmt, maybe bool) {
	for _, statement := range list {
		w.statement(u, statement, maybe)
		maybe = maybe || leaves(u, statement)
	}
}

func (w *walker) statement(u *unit, statement ast.Stmt, maybe bool) {
	switch s := statement.(type) {
	case *ast.BlockStmt:
		w.block(u, s.List, maybe)
	case *ast.LabeledStmt:
		w.statement(u, s.Stmt, maybe)
	case *ast.IfStmt:
		w.parts(u, maybe, s.Init, s.Cond)
		w.block(u, s.Body.List, true)
		if s.Else != nil {
			w.statement(u, s.Else, true)
		}
	case *ast.ForStmt:
		w.parts(u, maybe, s.Init, s.Cond, s.Post)
		w.block(u, s.Body.List, true)
	case *ast.RangeStmt:
		w.parts(u, maybe, s.X)
		w.block(u, s.Body.List, maybe || !w.fixed(source{unit: u, expr: s.X}))
	case *ast.SwitchStmt:
		w.parts(u, maybe, s.Init, s.Tag)
		w.block(u, s.Body.List, true)
	case *ast.TypeSwitchStmt:
		w.parts(u, maybe, s.Init, s.Assign)
		w.block(u, s.Body.List, true)
	case *ast.SelectStmt:
		w.block(u, s.Body.List, true)
	case *ast.CaseClause:
		w.block(u, s.Body, true)
	case *ast.CommClause:
		w.block(u, s.Body, true)
	default:
		w.parts(u, maybe, s)
	}
}

// parts visits parts of statements.
func (w *walker) parts(u *unit, maybe bool, nodes ...ast.Node) {
	for _, node := range nodes {
		if node == nil {
			continue
		}
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				w.block(u, n.Body.List, true)
				return false
			case *ast.CallExpr:
				w.call(u, n, maybe)
			case *ast.Ident:
				w.ident(u, n, maybe)
			}
			return true
		})
	}
}

func (w *walker) call(u *unit, c *ast.CallExpr, maybe bool) {
	f := calleeOf(u, c)
	if f == nil {
		return
	}
	if known := w.sites[c]; known != nil {
		known.maybe = known.maybe || maybe
	} else {
		w.sites[c] = &site{call{u, c, f}, maybe}
		w.order = append(w.order, w.sites[c])
	}
	w.function(f, maybe)
}

// ident follows functions that are named without a call, and package variables.
func (w *walker) ident(u *unit, name *ast.Ident, maybe bool) {
	switch used := u.info.Uses[name].(type) {
	case *types.Func:
		w.function(used, maybe)
	case *types.Var:
		if from, ok := w.inits[used]; ok && used.Parent() == used.Pkg().Scope() && !w.entered[used] {
			w.entered[used] = true
			w.parts(from.unit, true, from.expr)
		}
	}
}

// fixed reports whether a list always has the same elements, and at least one.
func (w *walker) fixed(list source) bool {
	switch e := ast.Unparen(list.expr).(type) {
	case *ast.CompositeLit:
		return len(e.Elts) > 0
	case *ast.Ident:
		values := w.values[target(list.unit, e)]
		return len(values) == 1 && values[0].expr != list.expr && w.fixed(values[0])
	case *ast.CallExpr:
		f := calleeOf(list.unit, e)
		if f == nil {
			return false
		}
		body, own := w.bodies[f.Origin()]
		if !own || len(body.decl.Body.List) != 1 {
			return false
		}
		last, ok := body.decl.Body.List[0].(*ast.ReturnStmt)
		return ok && len(last.Results) > 0 && w.fixed(source{unit: body.unit, expr: last.Results[0]})
	}
	return false
}

// leaves reports whether a statement may end the function successfully, so that the following statements are skipped and
// children that they declare are deleted. If it calls Wait, Partial or Fail before, no children are deleted.
func leaves(u *unit, statement ast.Stmt) bool {
	found := false
	_, within := statement.(*ast.IfStmt) // otherwise a break ends only the statement
	ast.Inspect(statement, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BlockStmt:
			if keeps(u, n.List) {
				return false
			}
		case *ast.ReturnStmt:
			found = found || succeeds(u, n)
		case *ast.BranchStmt:
			found = found || within && n.Tok != token.FALLTHROUGH
		}
		return true
	})
	return found
}

// keeps reports whether a block keeps all existing children.
func keeps(u *unit, list []ast.Stmt) bool {
	for _, statement := range list {
		expression, ok := statement.(*ast.ExprStmt)
		if !ok {
			continue
		}
		if c, ok := expression.X.(*ast.CallExpr); ok && isOf(calleeOf(u, c), operonPath, "Wait", "Partial", "Fail") {
			return true
		}
	}
	return false
}

// succeeds reports whether a return may return no error.
func succeeds(u *unit, s *ast.ReturnStmt) bool {
	if len(s.Results) == 0 {
		return true
	}
	switch last := ast.Unparen(s.Results[len(s.Results)-1]).(type) {
	case *ast.Ident:
		if last.Name == "nil" {
			return true
		}
		is := u.info.TypeOf(last)
		return is == nil || !types.Identical(is, types.Universe.Lookup("error").Type())
	case *ast.CallExpr:
		f := calleeOf(u, last)
		return !isOf(f, "errors", "New", "Join") && !isOf(f, "fmt", "Errorf")
	}
	return true
}
