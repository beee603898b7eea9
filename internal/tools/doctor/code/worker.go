package code

import (
	"go/ast"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var sleep = &rule.Rule{
	Name: "reconcile-sleep", Severity: rule.Error,
	About:  "time.Sleep or time.After in what a reconcile calls.",
	Reason: "A worker that sleeps works for no other object, and does not stop when the operator is told to: some objects that wait are enough to stop all of them.",
	Fix:    "return ctrl.Result{RequeueAfter: d}, nil (with Operon: out.Wait, or an error), or watch what is waited for",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Workers()...) {
			f.Inspect(func(node ast.Node, within []ast.Node) {
				call, ok := node.(*ast.CallExpr)
				if !ok || !rule.Calls(f.Info(), call, "time", "Sleep") || apart(within) {
					return
				}
				add(s, found, f, call, "%s sleeps while it reconciles", f.Object.Name())
			})
		}
	},
}

// apart tells what runs in a goroutine of its own.
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
	About:  "context.Background or context.TODO in what a reconcile calls.",
	Reason: "Requests with it do not end when the operator stops or the reconcile's time is up, and traces and loggers that the context carries are lost.",
	Fix:    "hand on the ctx that Reconcile is given; where something has to be done although it ended, use context.WithoutCancel(ctx) with a time-out",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Workers()...) {
			f.Inspect(func(node ast.Node, within []ast.Node) {
				call, ok := node.(*ast.CallExpr)
				if !ok || !rule.Calls(f.Info(), call, "context", "Background", "TODO") || !given(f) || apart(within) {
					return
				}
				add(s, found, f, call, "%s uses %s, and not the context that it is given", f.Object.Name(), text(call))
			})
		}
	},
}

// given tells whether a function has a context.
func given(f *rule.Function) bool {
	parameters := f.Object.Signature().Params()
	for i := range parameters.Len() {
		if rule.IsType(parameters.At(i).Type(), "context", "Context") {
			return true
		}
	}
	return false
}
