// Package takeover decides what becomes of objects that the Operator Lifecycle Manager (OLM) has made for an operator. It has no client.
package takeover

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Permissions finds Roles, ClusterRoles and bindings that do what declared ones do. Names are not compared.
type Permissions struct {
	// Declared are the objects that will exist, of any kind.
	Declared []client.Object
	// Doubles are those that Add has found.
	Doubles []client.Object

	roles map[string]bool // the Roles and ClusterRoles among Doubles
}

func roleKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// Add adds an object to Doubles if it does what a declared one does, and has another name. Roles and ClusterRoles have to come before bindings.
// The error says that an object cannot be decoded.
func (o *Permissions) Add(live *unstructured.Unstructured) error {
	kind := live.GetKind()
	for _, one := range o.Declared {
		if one.GetObjectKind().GroupVersionKind().Kind == kind && one.GetNamespace() == live.GetNamespace() && one.GetName() == live.GetName() {
			return nil
		}
	}
	if o.roles == nil {
		o.roles = map[string]bool{}
	}
	double := false
	switch kind {
	case "Role", "ClusterRole":
		role := &rbacv1.ClusterRole{} // a Role has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, role); err != nil {
			return fmt.Errorf("%s %s: %w", kind, live.GetName(), err)
		}
		double = role.AggregationRule == nil && slices.ContainsFunc(o.Declared, func(one client.Object) bool { return sameRole(one, role) })
		o.roles[roleKey(kind, live.GetNamespace(), live.GetName())] = double
	default:
		binding := &rbacv1.RoleBinding{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, binding); err != nil {
			return fmt.Errorf("%s %s: %w", kind, live.GetName(), err)
		}
		of := binding.Namespace
		if binding.RoleRef.Kind == "ClusterRole" {
			of = ""
		}
		double = o.roles[roleKey(binding.RoleRef.Kind, of, binding.RoleRef.Name)] ||
			slices.ContainsFunc(o.Declared, func(one client.Object) bool { return sameBinding(one, binding) })
	}
	if double {
		o.Doubles = append(o.Doubles, live)
	}
	return nil
}

// sameRole reports whether a declared role has the scope, the rules and the part in the roles of Kubernetes of another one.
func sameRole(declared client.Object, role *rbacv1.ClusterRole) bool {
	if declared.GetNamespace() != role.Namespace || !equality.Semantic.DeepEqual(aggregates(declared), aggregates(role)) {
		return false
	}
	switch declared := declared.(type) {
	case *rbacv1.Role:
		return sameRules(declared.Rules, role.Rules)
	case *rbacv1.ClusterRole:
		return sameRules(declared.Rules, role.Rules)
	}
	return false
}

// aggregates returns the labels of a ClusterRole by which Kubernetes adds it to others.
func aggregates(object client.Object) (all []string) {
	for _, part := range []string{"admin", "edit", "view"} {
		if key := "rbac.authorization.k8s.io/aggregate-to-" + part; object.GetLabels()[key] == "true" {
			all = append(all, key)
		}
	}
	return all
}

// sameRules compares rules. The order of what a rule lists has no meaning.
func sameRules(a, b []rbacv1.PolicyRule) bool {
	sorted := func(all []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		all = slices.Clone(all)
		for i := range all {
			all[i] = *all[i].DeepCopy()
			for _, list := range [][]string{all[i].Verbs, all[i].APIGroups, all[i].Resources, all[i].ResourceNames, all[i].NonResourceURLs} {
				slices.Sort(list)
			}
		}
		return all
	}
	return equality.Semantic.DeepEqual(sorted(a), sorted(b))
}

func sameBinding(declared client.Object, live *rbacv1.RoleBinding) bool {
	if declared.GetNamespace() != live.Namespace {
		return false
	}
	switch declared := declared.(type) {
	case *rbacv1.RoleBinding:
		return declared.RoleRef == live.RoleRef && equality.Semantic.DeepEqual(declared.Subjects, live.Subjects)
	case *rbacv1.ClusterRoleBinding:
		return declared.RoleRef == live.RoleRef && equality.Semantic.DeepEqual(declared.Subjects, live.Subjects)
	}
	return false
}
