package code

import (
	"go/ast"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var deleteNotFound = &rule.Rule{
	Name: "delete-not-found", Severity: rule.Error,
	About:  "A cleanup that fails if the object to delete is already gone, and therefore never removes the finalizer.",
	Reason: "If the operator exits between the deletion and the removal of the finalizer, it finds nothing to delete from then on, and the object stays in deletion forever.",
	Fix:    "client.IgnoreNotFound(err): an object that is gone is the desired result",
	Check: func(s *rule.Subject, found *rule.Findings) {
		for _, f := range s.Code.Reach(s.Code.Reconcilers()...) {
			if !calls(f.Info(), f.Decl.Body, rule.UtilPackage, "RemoveFinalizer") {
				continue
			}
			f.Inspect(func(node ast.Node, _ []ast.Node) {
				if n, ok := node.(*ast.IfStmt); ok && insists(f, n) {
					add(s, found, f, n, "%s does not remove the finalizer if the object is already gone", f.Object.Name())
				}
			})
		}
	},
}

// insists reports whether an if returns the error of a Delete unchanged.
func insists(f *rule.Function, n *ast.IfStmt) bool {
	err := failed(f.Info(), n.Cond)
	if err == nil || n.Init == nil {
		return false
	}
	r := request(f.Info(), n.Init)
	if r == nil || r.Verb != "Delete" || calls(f.Info(), n.Init, rule.ClientPackage, "IgnoreNotFound") {
		return false
	}
	if calls(f.Info(), n.Body, apiErrors, "IsNotFound", "ReasonForError") || calls(f.Info(), n.Body, rule.ClientPackage, "IgnoreNotFound") {
		return false
	}
	last, ok := n.Body.List[len(n.Body.List)-1].(*ast.ReturnStmt)
	return ok && uses(f.Info(), last, err)
}
