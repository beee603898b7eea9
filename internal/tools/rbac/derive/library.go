package derive

import (
	"go/ast"
	"slices"

	"github.com/operon-framework/operon/internal/tools/syntax"
)

// library adds the permissions for calls of package steps and of clients.
func (d *deriving) library(c *composer, s *site) {
	switch {
	case isOf(s.callee, stepsPath, "Job"):
		d.may([]string{"get", "list", "watch", "create", "delete"}, jobs, "steps.Job")
	case isOf(s.callee, stepsPath, "Exec", "Save", "Load"):
		d.mayOn([]string{"get", "create"}, pods, "exec", "task."+s.callee.Name())
	case isOf(s.callee, stepsPath, "Scale"):
		for _, of := range d.kindsOf(s.call, 3, "steps.Scale") {
			d.mayOn([]string{"get", "update"}, of, "scale", "steps.Scale")
		}
		d.may([]string{"list"}, pods, "steps.Scale")
	case isOf(s.callee, stepsPath, "Until"):
		for _, of := range d.kindsOf(s.call, 1, "task.Until") {
			d.may(read, of, "task.Until")
		}
	case isOf(s.callee, clientPath):
		d.client(s)
	case isOf(s.callee, utilPath, "CreateOrUpdate"):
		d.createOr(s, "update")
	case isOf(s.callee, utilPath, "CreateOrPatch"):
		d.createOr(s, "patch")
	}
}

// createOr adds the permissions for a function of controllerutil, which reads an object, and creates it or changes it by a verb.
func (d *deriving) createOr(s *site, verb string) {
	for _, of := range d.kindsOf(s.call, 2, s.callee.Name()) {
		d.may([]string{"get", "create", verb}, of, "controllerutil."+s.callee.Name())
	}
}

// Interfaces of controller-runtime's client, and the verbs of their methods.
var (
	onObjects = map[string][]string{
		"Get": {"get"}, "List": {"list"}, "Create": {"create"}, "Update": update, "Patch": patch, "Apply": {"create", "patch"}, "Delete": remove,
		"DeleteAllOf": {"deletecollection"}, "Watch": {"list", "watch"},
	}
	withObjects = []string{"Reader", "Writer", "Client", "WithWatch", "SubResourceWriter", "SubResourceClient", "StatusWriter", "SubResourceReader"}
)

// client adds the permission for a request by a client. Clients of composers have no cache, so that each request needs one
// verb.
func (d *deriving) client(s *site) {
	verbs, at := onObjects[s.callee.Name()], 1
	if verbs == nil || !slices.Contains(withObjects, receiverOf(s.callee)) {
		return
	}
	if s.callee.Name() == "Get" && receiverOf(s.callee) == "Reader" {
		at = 2
	}
	if s.callee.Name() == "Patch" && applies(s) {
		verbs = []string{"create", "patch"}
	}
	subresource := subresourceOf(s)
	if s.callee.Name() == "Apply" && subresource != "" {
		verbs = patch
	}
	for _, of := range d.kindsOf(s.call, at, s.callee.Name()) {
		d.mayOn(verbs, of, subresource, "a request of the composer's own")
	}
}

// applies reports whether a patch is an apply, which creates objects that do not exist.
func applies(s *site) bool {
	return slices.ContainsFunc(s.Args, func(arg ast.Expr) bool {
		return syntax.Any(arg, func(ident *ast.Ident) bool { return ident.Name == "Apply" || ident.Name == "ApplyPatchType" })
	})
}

// subresourceOf returns the subresource that Status() or SubResource("name") selects for a request.
func subresourceOf(s *site) string {
	method, ok := ast.Unparen(s.Fun).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	before, ok := ast.Unparen(method.X).(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := calleeOf(s.unit, before); {
	case isOf(f, clientPath, "Status"):
		return "status"
	case isOf(f, clientPath, "SubResource"):
		return constantOf(s.unit, argument(call{s.unit, before, f}, 0))
	}
	return ""
}
