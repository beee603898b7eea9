package code

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

const apiErrors = "k8s.io/apimachinery/pkg/api/errors"

var errorSwallowed = &rule.Rule{
	Name: "error-swallowed", Severity: rule.Error,
	About:  "A reconcile that succeeds although a request failed: the error is only logged, or ignored.",
	Reason: "The failed request is retried only when something else changes, which may be never: a single timeout of a busy API server leaves the object half finished.",
	Fix:    "return the error: it is logged and the object is retried with backoff; if a certain error does not matter, check for that one, as client.IgnoreNotFound does",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Reconcilers()...) {
			f.Inspect(func(node ast.Node, within []ast.Node) {
				switch n := node.(type) {
				case *ast.IfStmt:
					if at := swallows(f, n); at != nil {
						add(s, found, f, at, "%s returns no error if %s", f.Object.Name(), text(n.Cond))
					}
					if logged(f, n, within) {
						add(s, found, f, n, "%s logs the error of %s and continues", f.Object.Name(), text(request(f.Info(), n.Init).Call.Fun))
					}
				case *ast.ExprStmt:
					if r := unseen(f.Info(), n.X); r != nil && !failing(f, n, within) {
						add(s, found, f, n, "the error of %s is ignored", text(r.Call.Fun))
					}
				case *ast.AssignStmt:
					if r := dropped(f.Info(), n); r != nil && !failing(f, n, within) {
						add(s, found, f, n, "the error of %s is dropped", text(r.Call.Fun))
					}
				}
			})
		}
	},
}

// swallows returns the return statement with which a reconcile succeeds despite an error.
func swallows(f *rule.Function, n *ast.IfStmt) ast.Node {
	err := failed(f.Info(), n.Cond)
	if err == nil || !rule.ReturnsResult(f) || len(n.Body.List) == 0 || !fromRequest(f, n, err) {
		return nil
	}
	last, ok := n.Body.List[len(n.Body.List)-1].(*ast.ReturnStmt)
	if !ok || len(last.Results) != 2 || !isNil(f.Info(), last.Results[1]) || !isEmpty(last.Results[0]) {
		return nil
	}
	if !onlyLogs(f.Info(), n.Body.List[:len(n.Body.List)-1]) {
		return nil // the error is checked, stored in the status, or reported otherwise
	}
	return last
}

// onlyLogs reports whether statements write to a log, and do nothing else.
func onlyLogs(info *types.Info, statements []ast.Stmt) bool {
	return !slices.ContainsFunc(statements, func(statement ast.Stmt) bool { return !logs(info, statement) })
}

// logged reports whether an if only logs the error of a write, and the function then succeeds without another attempt. A
// deletion may not matter, and neither does an Event.
func logged(f *rule.Function, n *ast.IfStmt, within []ast.Node) bool {
	if n.Init == nil || n.Else != nil || len(within) != 1 || !rule.ReturnsResult(f) {
		return false
	}
	err := failed(f.Info(), n.Cond)
	if err == nil || err.Pos() < n.Pos() || len(n.Body.List) == 0 || !onlyLogs(f.Info(), n.Body.List) {
		return false
	}
	r := request(f.Info(), n.Init)
	if r == nil || !r.Writes() || strings.HasPrefix(r.Verb, "Delete") || short(f.TypeOf(r.Object)) == "Event" {
		return false
	}
	return !syntax.Any(f.Decl.Body, func(last *ast.ReturnStmt) bool {
		return last.Pos() > n.End() && !(len(last.Results) == 2 && isEmpty(last.Results[0]))
	})
}

// failing reports whether the path of a node ends in an error: the write is a best effort to record it.
func failing(f *rule.Function, node ast.Node, within []ast.Node) bool {
	var conditions []ast.Expr
	for _, above := range within {
		switch n := above.(type) {
		case *ast.IfStmt:
			conditions = append(conditions, n.Cond)
		case *ast.CaseClause:
			conditions = append(conditions, n.List...)
		}
	}
	for i := len(within) - 1; i >= 0; i-- {
		var statements []ast.Stmt
		switch block := within[i].(type) {
		case *ast.BlockStmt:
			statements = block.List
		case *ast.CaseClause:
			statements = block.Body
		case *ast.FuncLit:
			return false
		}
		if len(statements) == 0 {
			continue
		}
		if last, ok := statements[len(statements)-1].(*ast.ReturnStmt); ok {
			return returnsFailure(f, last, conditions)
		}
	}
	return false
}

// returnsFailure reports whether a return statement returns an error that exists: a new one, one of a package, or one that a
// condition checks.
func returnsFailure(f *rule.Function, last *ast.ReturnStmt, conditions []ast.Expr) bool {
	if calls(f.Info(), last, "fmt", "Errorf") || calls(f.Info(), last, "errors", "New") {
		return true
	}
	return syntax.Any(last, func(name *ast.Ident) bool {
		err, ok := f.Info().Uses[name].(*types.Var)
		if !ok || !types.Identical(err.Type(), errorType) {
			return false
		}
		return err.Parent() == err.Pkg().Scope() || slices.ContainsFunc(conditions, func(one ast.Expr) bool { return uses(f.Info(), one, err) })
	})
}

// fromRequest reports whether err comes from a request, or from a function of the project that makes requests.
func fromRequest(f *rule.Function, n *ast.IfStmt, err types.Object) bool {
	source := assigned(f, n, err)
	if source == nil {
		return false
	}
	if request(f.Info(), source) != nil {
		return true
	}
	return slices.ContainsFunc(f.Mentions, func(next *rule.Function) bool {
		return makesRequests(next, map[*rule.Function]bool{}) && callsFunction(f.Info(), source, next)
	})
}

// assigned returns the expression that was last assigned to err before the if.
func assigned(f *rule.Function, n *ast.IfStmt, err types.Object) ast.Node {
	var source ast.Node
	ast.Inspect(f.Decl.Body, func(node ast.Node) bool {
		assignment, ok := node.(*ast.AssignStmt)
		if !ok || assignment.Pos() > n.Cond.Pos() {
			return true
		}
		for _, left := range assignment.Lhs {
			if name, ok := left.(*ast.Ident); ok && f.Info().ObjectOf(name) == err {
				source = assignment.Rhs[len(assignment.Rhs)-1]
			}
		}
		return true
	})
	return source
}

func makesRequests(f *rule.Function, seen map[*rule.Function]bool) bool {
	if seen[f] {
		return false
	}
	seen[f] = true
	if request(f.Info(), f.Decl.Body) != nil {
		return true
	}
	return slices.ContainsFunc(f.Mentions, func(next *rule.Function) bool { return makesRequests(next, seen) })
}

func callsFunction(info *types.Info, node ast.Node, f *rule.Function) bool {
	return syntax.Any(node, func(call *ast.CallExpr) bool {
		callee := rule.Callee(info, call)
		return callee != nil && callee.Origin() == f.Object
	})
}

// isEmpty reports whether an expression is ctrl.Result{}.
func isEmpty(e ast.Expr) bool {
	literal, ok := ast.Unparen(e).(*ast.CompositeLit)
	return ok && len(literal.Elts) == 0
}

// logs reports whether a statement writes to a log.
func logs(info *types.Info, statement ast.Stmt) bool {
	expression, ok := statement.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := expression.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	callee := rule.Callee(info, call)
	if callee == nil || callee.Pkg() == nil {
		return false
	}
	path := callee.Pkg().Path()
	return strings.Contains(path, "go-logr/logr") || path == "log" || path == "log/slog" || path == "fmt" || strings.Contains(path, "klog") || strings.Contains(path, "zap")
}

// unseen returns a write whose error is not used.
func unseen(info *types.Info, e ast.Expr) *rule.Request {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if r := rule.RequestOf(info, call); r != nil && r.Writes() {
		return r
	}
	return nil
}

// dropped returns a write whose error is assigned to _.
func dropped(info *types.Info, n *ast.AssignStmt) *rule.Request {
	if len(n.Rhs) != 1 {
		return nil
	}
	last, ok := n.Lhs[len(n.Lhs)-1].(*ast.Ident)
	if !ok || last.Name != "_" {
		return nil
	}
	return unseen(info, n.Rhs[0])
}

var errorAsNotFound = &rule.Rule{
	Name: "error-as-not-found", Severity: rule.Error,
	About:  "Every error of a Get treated as NotFound: the object is created again.",
	Reason: "If the API server is busy or rejects the read, the object seems not to exist, and a new one replaces it.",
	Fix:    "create the object only if apierrors.IsNotFound(err), and return every other error",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Reconcilers()...) {
			f.Inspect(func(node ast.Node, _ []ast.Node) {
				n, ok := node.(*ast.IfStmt)
				if !ok || !doubts(f, n) {
					return
				}
				add(s, found, f, n, "every error of the Get leads to a new object")
			})
		}
	},
}

// doubts reports whether an if creates an object when a Get failed for any reason.
func doubts(f *rule.Function, n *ast.IfStmt) bool {
	binary, ok := ast.Unparen(n.Cond).(*ast.BinaryExpr)
	if !ok || binary.Op != token.NEQ || !isNil(f.Info(), binary.Y) {
		return false
	}
	source := ast.Node(binary.X)
	if err := failed(f.Info(), n.Cond); err != nil {
		if source = assigned(f, n, err); source == nil {
			return false
		}
		if uses(f.Info(), n.Body, err) {
			return false // the error is checked there
		}
	}
	got := request(f.Info(), source)
	return got != nil && got.Verb == "Get" && creates(f, n.Body)
}

// creates reports whether a node, or a function that it calls, creates an object.
func creates(f *rule.Function, node ast.Node) bool {
	if has(f.Info(), node, "Create") {
		return true
	}
	return slices.ContainsFunc(f.Mentions, func(next *rule.Function) bool {
		return callsFunction(f.Info(), node, next) && has(next.Info(), next.Decl.Body, "Create")
	})
}

func has(info *types.Info, node ast.Node, verb string) bool {
	return syntax.Any(node, func(call *ast.CallExpr) bool {
		r := rule.RequestOf(info, call)
		return r != nil && r.Verb == verb && !r.Status
	})
}
