package derive

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

// The verbs for each kind of access by the runtime. They must match the requests that the runtime sends.
var (
	// read: a watch of all objects, and a read of one object.
	read = []string{"get", "list", "watch"}
	// keep: children are applied, which also creates them.
	keep   = []string{"get", "list", "watch", "create", "patch"}
	remove = []string{"delete"}
	patch  = []string{"patch"}
	update = []string{"update"}
	// tell: events are created, and patched when they occur again.
	tell = []string{"create", "patch"}
	// hold: Leases for leader election and for the record of composed kinds, if their names are unknown.
	hold = []string{"get", "create", "update"}
	// share: Leases of replicas that divide the objects among themselves.
	share = []string{"get", "list", "watch", "create", "update", "delete"}
	// register: webhook configurations and admission policies with which API servers call the operator.
	register = []string{"get", "list", "watch", "create", "patch", "delete"}
	// convert: the definition of a kind whose versions the operator converts.
	convert = []string{"get", "list", "watch", "patch"}
)

// Kinds that the runtime itself uses.
var (
	leases      = kind{Group: "coordination.k8s.io", Resource: "leases"}
	secrets     = kind{Resource: "secrets"}
	definitions = kind{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	jobs        = kind{Group: "batch", Resource: "jobs"}
	pods        = kind{Resource: "pods"}
	actions     = kind{Group: "actions.operon.dev", Resource: "actions"}
	schedules   = kind{Group: "actions.operon.dev", Resource: "actionschedules"}
)

func registered(resource string) kind {
	return kind{Group: "admissionregistration.k8s.io", Resource: resource}
}

// managed adds the permissions for managing a kind, regardless of its composer.
func (d *deriving) managed(c *composer) {
	d.may(read, c.kind, "it is managed")
	if len(c.options["WithoutStatus"]) == 0 {
		d.mayOn(patch, c.kind, "status", "its status is written")
	}
	if len(c.options["MigrateStorage"]) > 0 {
		d.may(patch, c.kind, "operon.MigrateStorage")
		d.mayNamed([]string{"get"}, definitions, definitionOf(c.kind), "", "operon.MigrateStorage")
		status := definitions
		status.Resource += "/status"
		d.mayNamed(update, status, definitionOf(c.kind), "", "operon.MigrateStorage")
	}
	if c.has("Actions") {
		d.actions()
	}
}

func definitionOf(of kind) string { return of.Resource + "." + of.Group }

// actions adds the permissions for serving Actions and their schedules.
func (d *deriving) actions() {
	const why = "Actions"
	d.may(slices.Concat(keep, remove), actions, why) // a schedule creates and deletes them
	d.mayOn(patch, actions, "status", why)
	d.may(read, schedules, why)
	d.mayOn(patch, schedules, "status", why)
	d.mayOn(update, schedules, "finalizers", why)
	if d.shards {
		d.may(patch, schedules, why)
	}
}

// asked adds the permissions for webhooks and admission policies.
func (d *deriving) asked(c *composer, operator string) {
	answers := c.has("Default", "Validate", "ValidateDeletion")
	judged := len(c.options["Rules"]) > 0
	if !answers && !judged && !c.converts() {
		return
	}
	if operator == "" {
		d.note(c.at.Pos(), "webhooks: the operator's name is not a constant: write markers for its Secret and configurations, as docs/runtime/webhooks.md lists them")
		return
	}
	if answers || c.converts() {
		d.mayNamed(keep, secrets, operator+"-webhook-certificates", Own, "certificates of webhooks")
	}
	if answers {
		d.mayNamed(register, registered("validatingwebhookconfigurations"), operator, "", "webhooks")
		d.mayNamed(register, registered("mutatingwebhookconfigurations"), operator, "", "webhooks")
	}
	if judged {
		name := operator + "." + strings.ToLower(c.kind.Kind) + "." + cmp.Or(c.kind.Group, "core")
		d.mayNamed(register, registered("validatingadmissionpolicies"), name, "", "operon.Rules")
		d.mayNamed(register, registered("validatingadmissionpolicybindings"), name, "", "operon.Rules")
	}
	if c.converts() {
		d.mayNamed(convert, definitions, definitionOf(c.kind), "", "versions are converted")
	}
}

// process adds the permissions of the process as a whole.
func (d *deriving) process(operator string, all []*composer) {
	d.may(tell, kind{Resource: "events"}, "events")
	d.may(tell, kind{Group: "events.k8s.io", Resource: "events"}, "events")
	d.leases(operator, slices.ContainsFunc(all, func(c *composer) bool { return len(c.options["MigrateStorage"]) > 0 }))
}

// leases adds the permissions on Leases in the operator's own namespace, by name if the names are known. RBAC cannot limit the creation
// of objects by name.
func (d *deriving) leases(operator string, migrates bool) {
	const why = "leader election, and the record of composed kinds"
	switch {
	case d.shards:
		d.mayNamed(share, leases, "", Own, why)
	case operator == "":
		d.mayNamed(hold, leases, "", Own, why)
	default:
		d.mayNamed([]string{"create"}, leases, "", Own, why)
		for _, name := range rbac.LeaseNames(operator, migrates) {
			d.mayNamed([]string{"get", "update"}, leases, name, Own, why)
		}
	}
}

// asChild converts a call of GeneratedSecret to the call of Child that it results in.
func asChild(s *site) *site {
	as := *s.CallExpr
	as.Args = append([]ast.Expr{s.Args[1]}, s.Args[min(3, len(s.Args)):]...)
	return &site{call{s.unit, &as, s.callee}, s.maybe}
}

// child adds the permissions for a declared child. It reports whether the owner gets a finalizer for it.
func (d *deriving) child(c *composer, s *site) (held bool) {
	untraced := d.untraced(source{unit: s.unit, expr: argument(s.call, 0)}, map[ast.Expr]bool{})
	for _, of := range d.kindsOf(s.call, 0, "out."+s.callee.Name()) {
		d.may(keep, of, "a child")
		ordered := d.hasOption(s.call, "After")
		apart := !c.kind.Cluster && (of.Cluster || of.Unscoped || untraced || d.elsewhere(s.call))
		left := d.hasOption(s.call, "Orphan")
		ends := (s.maybe || apart || untraced || d.renamed(s.call)) && !left
		if ends || ordered || d.hasOption(s.call, "Replace") {
			d.may(remove, of, "a child that is pruned")
		}
		held = held || ordered || apart || left
		if of.Group == "rbac.authorization.k8s.io" {
			d.note(s.Pos(), "out.Child: a %s grants permissions, which the operator needs itself: add markers for them", of.Kind)
		}
	}
	if d.hasOption(s.call, "After") {
		d.ordered(s)
	}
	return held
}

// ordered adds permissions to delete the objects that other children come after: the operator deletes these objects, too,
// after the others.
func (d *deriving) ordered(s *site) {
	for _, arg := range s.Args[1:] {
		ast.Inspect(arg, func(node ast.Node) bool {
			c, ok := node.(*ast.CallExpr)
			if !ok || !isOperons(calleeOf(s.unit, c), "After") {
				return true
			}
			for i := range c.Args {
				for _, of := range d.kindsOf(call{s.unit, c, s.callee}, i, "operon.After") {
					d.may(remove, of, "a child that others come after")
				}
			}
			return true
		})
	}
}

// hasOption reports whether a child may have an option, as far as the call shows it. Options that come from elsewhere may be
// any that the project uses.
func (d *deriving) hasOption(s call, name string) bool {
	found, elsewhere := false, s.Ellipsis.IsValid()
	for _, arg := range s.Args[min(1, len(s.Args)):] {
		if _, written := ast.Unparen(arg).(*ast.CallExpr); !written {
			elsewhere = true
		}
		ast.Inspect(arg, func(node ast.Node) bool {
			c, ok := node.(*ast.CallExpr)
			if ok && isOperons(calleeOf(s.unit, c), name) {
				found = true
			}
			if ok {
				_, own := d.bodies[calleeOf(s.unit, c)]
				elsewhere = elsewhere || own
			}
			return true
		})
	}
	if found || !elsewhere {
		return found
	}
	return slices.ContainsFunc(d.calls, func(other call) bool { return isOperons(other.callee, name) })
}

// isRead reports whether a function reads objects and watches them.
func isRead(f *types.Func) bool {
	switch {
	case isMethod(f, operonPath, "reader", "Get", "List"):
		return true
	case isMethod(f, operonPath+"/durable", "Reader", "Get", "List"):
		return true
	}
	return false
}

// read adds the permissions for a tracked read. A read from another cluster needs no permissions here.
func (d *deriving) read(s *site) {
	for _, of := range d.kindsOf(s.call, 1, s.callee.Name()) {
		d.may(read, of, "it is read")
	}
}
