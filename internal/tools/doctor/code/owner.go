package code

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/syntax"
)

const metaPackage = "k8s.io/apimachinery/pkg/apis/meta/v1"

var ownerMissing = &rule.Rule{
	Name: "owner-missing", Severity: rule.Error,
	About:  "A child that a reconcile creates without an owner reference and that no finalizer cleans up.",
	Reason: "Nothing deletes the child when its owner is deleted: it uses resources and conflicts with a later owner of the same name.",
	Fix:    "call controllerutil.SetControllerReference(owner, child, scheme) before you create the child; for cluster-scoped children and those in other namespaces, use a finalizer that deletes them",
	Check: func(s *rule.Subject, found *rule.Findings) {
		local := newHomes(s.Code)
		for _, reconciler := range s.Code.Reconcilers() {
			primary := s.Code.Primary(reconciler)
			reached := s.Code.Reach(reconciler)
			inside := short(primary) == "Namespace" || makesNamespace(reached)
			for _, f := range reached {
				f.Requests(func(r *rule.Request, _ []ast.Node) {
					if !makes(f, r) || !local.has(f, clientOf(r)) || inside && !clusterScoped(f, r) || owned(s, f, r, primary, reached) {
						return
					}
					if s.Once(ownerMissingOnce{s.Code.At(r.Call)}) {
						add(s, found, f, r.Call, "%s creates %s without an owner reference%s", f.Object.Name(), child(f, r), on(f, reconciler))
					}
				})
			}
		}
	},
}

// ownerMissingOnce limits a function that several reconcilers share to one finding.
type ownerMissingOnce struct{ rule.Place }

// on names the reconciler, unless it is the function itself.
func on(f, reconciler *rule.Function) string {
	name := types.TypeString(reconciler.Object.Signature().Recv().Type(), func(*types.Package) string { return "" })
	if f == reconciler {
		return ""
	}
	return ", for the reconciles of " + strings.TrimPrefix(name, "*")
}

// child names the created object.
func child(f *rule.Function, r *rule.Request) string {
	if name := f.TypeOf(r.Object); name != nil && name.Name() != "Unstructured" {
		return "a " + name.Name()
	}
	return text(r.Object)
}

// makes reports whether a request may create an object.
func makes(f *rule.Function, r *rule.Request) bool {
	if r.Status {
		return false
	}
	switch r.Verb {
	case "Create", "CreateOrUpdate", "CreateOrPatch":
		return true
	case "Patch":
		return len(r.Call.Args) > 2 && named(r.Call.Args[2], "Apply")
	}
	return false
}

func named(e ast.Expr, name string) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == name
	case *ast.Ident:
		return x.Name == name
	}
	return false
}

// without lists types that need no owner: they are records, or are removed automatically.
var without = map[string]bool{"Event": true, "Lease": true, "TokenRequest": true, "Eviction": true, "SubjectAccessReview": true, "SelfSubjectAccessReview": true, "TokenReview": true}

// owned reports whether the child may have an owner or a reconciler that deletes it.
func owned(s *rule.Subject, f *rule.Function, r *rule.Request, primary *types.TypeName, reached []*rule.Function) bool {
	made := f.TypeOf(r.Object)
	if made != nil && (made == primary || without[made.Name()]) {
		return true
	}
	for _, one := range s.Code.Reach(f) {
		if setsOwner(one) {
			return true
		}
	}
	if handedIn(f, r.Object) {
		for _, caller := range s.Code.Callers(f, reached) {
			for _, one := range s.Code.Reach(caller) {
				if setsOwner(one) {
					return true
				}
			}
		}
	}
	return finalized(reached, made)
}

// makesNamespace reports whether a reconciler creates Namespaces. What is in a Namespace is deleted with it.
func makesNamespace(reached []*rule.Function) bool {
	return slices.ContainsFunc(reached, func(f *rule.Function) bool {
		found := false
		f.Requests(func(r *rule.Request, _ []ast.Node) {
			found = found || makes(f, r) && short(f.TypeOf(r.Object)) == "Namespace"
		})
		return found
	})
}

// clusterScoped reports whether an object of a built-in kind is not in a Namespace.
func clusterScoped(f *rule.Function, r *rule.Request) bool {
	switch short(f.TypeOf(r.Object)) {
	case "Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", "StorageClass", "PriorityClass", "IngressClass",
		"CustomResourceDefinition", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CertificateSigningRequest":
		return true
	}
	return false
}

// handedIn reports whether an object comes from the caller, or from an unknown place.
func handedIn(f *rule.Function, object ast.Expr) bool {
	root := f.Root(object)
	if root == nil || f.Parameter(root) {
		return true
	}
	return f.TypeOf(object) == nil // an interface, whose value was set elsewhere
}

// setsOwner reports whether a function sets an owner reference on any object.
func setsOwner(f *rule.Function) bool {
	return syntax.Any(f.Decl.Body, func(name *ast.Ident) bool {
		switch name.Name {
		case "SetControllerReference", "SetOwnerReference", "SetOwnerReferences", "NewControllerRef", "OwnerReferences", "OwnerReference", "WithOwnerReferences":
			return true
		}
		return false
	})
}

// finalized reports whether the reconciler has a finalizer and deletes objects of a type.
func finalized(reached []*rule.Function, made *types.TypeName) bool {
	if !anywhere(reached, rule.UtilPackage, "AddFinalizer", "RemoveFinalizer", "ContainsFinalizer") {
		return false
	}
	for _, f := range reached {
		deletes := false
		f.Requests(func(r *rule.Request, _ []ast.Node) {
			if r.Verb != "Delete" && r.Verb != "DeleteAllOf" {
				return
			}
			deleted := f.TypeOf(r.Object)
			deletes = deletes || made == nil || deleted == nil || deleted == made
		})
		if deletes {
			return true
		}
	}
	return false
}

var finalizerStays = &rule.Rule{
	Name: "finalizer-stays", Severity: rule.Error,
	About:  "A finalizer that is added and never removed.",
	Reason: "Objects with this finalizer cannot be deleted, and neither can their namespaces.",
	Fix:    "when the object is being deleted, clean up, call controllerutil.RemoveFinalizer and update the object; or do not add the finalizer",
	Check: func(s *rule.Subject, found *rule.Findings) {
		removed := removedFinalizers(s.Code.Functions)
		for _, f := range s.Code.Functions {
			f.Inspect(func(node ast.Node, _ []ast.Node) {
				call, ok := node.(*ast.CallExpr)
				if !ok || !rule.Calls(f.Info(), call, rule.UtilPackage, "AddFinalizer") || len(call.Args) != 2 {
					return
				}
				name := constantOf(f.Info(), call.Args[1])
				if removed.all || name == "" && len(removed.names) > 0 || removed.names[name] {
					return
				}
				add(s, found, f, call, "the finalizer %s is never removed", text(call.Args[1]))
			})
		}
	},
}

// finalizers holds the finalizers that are removed anywhere: the known names, or all.
type finalizers struct {
	names map[string]bool
	all   bool
}

func removedFinalizers(functions []*rule.Function) finalizers {
	removed := finalizers{names: map[string]bool{}}
	for _, f := range functions {
		ast.Inspect(f.Decl.Body, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.CallExpr:
				if rule.Calls(f.Info(), n, rule.UtilPackage, "RemoveFinalizer") && len(n.Args) == 2 {
					name := constantOf(f.Info(), n.Args[1])
					removed.names[name] = true
					removed.all = removed.all || name == ""
				}
				removed.all = removed.all || named(n.Fun, "SetFinalizers")
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					removed.all = removed.all || named(left, "Finalizers")
				}
			}
			return true
		})
	}
	return removed
}

func constantOf(info *types.Info, e ast.Expr) string {
	if value := info.Types[e].Value; value != nil {
		return value.ExactString()
	}
	return ""
}
