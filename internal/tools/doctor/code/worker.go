package code

import (
	"go/ast"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var sleep = &rule.Rule{
	Name: "reconcile-sleep", Severity: rule.Error,
	About:  "time.Sleep or time.After in code that a reconcile calls.",
	Reason: "A sleeping worker reconciles no other object and does not stop when the operator shuts down: a few waiting objects block all workers.",
	Fix:    "return ctrl.Result{RequeueAfter: d}, nil (with Operon: out.Wait, or an error), or watch the object that the code waits for",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Workers()...) {
			f.Inspect(func(node ast.Node, within []ast.Node) {
				call, ok := node.(*ast.CallExpr)
				if !ok || !rule.Calls(f.Info(), call, "time", "Sleep") || apart(within) {
					return
				}
				add(s, found, f, call, "%s sleeps during a reconcile", f.Object.Name())
			})
		}
	},
}

// apart reports whether a node runs in its own goroutine.
func apart(within []ast.Node) bool {
	for _, above := range within {
		if _, ok := above.(*ast.GoStmt); ok {
			return true
		}
	}
	return false
}

var background = &rule.Rule{
	Name: "reconcile-background", Severity: rule.Warning,
	About:  "context.Background or context.TODO in code that a reconcile calls.",
	Reason: "Requests with this context do not end when the operator stops or the reconcile times out, and traces and loggers in the original context are lost.",
	Fix:    "pass on the ctx of Reconcile; for work that must be done even after it was canceled, use context.WithoutCancel(ctx) with a timeout",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Workers()...) {
			f.Inspect(func(node ast.Node, within []ast.Node) {
				call, ok := node.(*ast.CallExpr)
				if !ok || !rule.Calls(f.Info(), call, "context", "Background", "TODO") || !given(f) || apart(within) {
					return
				}
				add(s, found, f, call, "%s uses %s instead of the context passed to it", f.Object.Name(), text(call))
			})
		}
	},
}

// given reports whether a function has a context.
func given(f *rule.Function) bool {
	parameters := f.Object.Signature().Params()
	for i := range parameters.Len() {
		if rule.IsType(parameters.At(i).Type(), "context", "Context") {
			return true
		}
	}
	return false
}
