package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/ship/bundle"
)

// granted are the permissions that rendered objects grant.
type granted struct {
	*rendered
	accounts map[string]bool
	rules    map[string][]rbacv1.PolicyRule // by kind, namespace and name of a role
	bindings []binding
	roles    int
}

type binding struct {
	role     string
	subjects []rbacv1.Subject
	// namespace is empty for a binding of the cluster.
	namespace string
}

func roleKey(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

// check compares the objects with the permissions in the CSV: no more and no less.
func (g *granted) check(objects []client.Object) {
	g.accounts, g.rules = map[string]bool{}, map[string][]rbacv1.PolicyRule{}
	const at = "spec.install.spec"
	seen := map[string]bool{}
	for _, one := range objects {
		key := fmt.Sprintf("%T %s/%s", one, one.GetNamespace(), one.GetName())
		if seen[key] {
			g.problem(at, "the object %s is made twice", key)
		}
		seen[key] = true
		g.collect(one)
	}
	spec := g.bundle.CSV.Spec.Install.Spec
	accounts := map[string]bool{}
	for _, one := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		accounts[one.ServiceAccountName] = true
	}
	delete(accounts, "default") // each namespace has it
	if !maps.Equal(g.accounts, accounts) {
		g.problem(at, "the ServiceAccounts are %v, want %v", slices.Sorted(maps.Keys(g.accounts)), slices.Sorted(maps.Keys(accounts)))
	}
	g.compare(at, spec.Permissions, spec.ClusterPermissions)
}

func (g *granted) collect(object client.Object) {
	switch o := object.(type) {
	case *corev1.ServiceAccount:
		g.accounts[o.Name] = true
	case *rbacv1.Role:
		g.rules[roleKey("Role", o.Namespace, o.Name)] = o.Rules
	case *rbacv1.ClusterRole:
		g.rules[roleKey("ClusterRole", "", o.Name)] = o.Rules
	case *rbacv1.RoleBinding:
		g.bindings = append(g.bindings, binding{roleKey(o.RoleRef.Kind, o.Namespace, o.RoleRef.Name), o.Subjects, o.Namespace})
	case *rbacv1.ClusterRoleBinding:
		g.bindings = append(g.bindings, binding{roleKey(o.RoleRef.Kind, "", o.RoleRef.Name), o.Subjects, ""})
	}
}

// compare compares the union of the granted rules with the rules in the CSV, for each ServiceAccount and namespace.
func (g *granted) compare(at string, own, cluster []bundle.Permissions) {
	want := map[string]bool{}
	for _, one := range own {
		rules := one.Rules
		for _, namespace := range slices.Compact(append([]string{home}, g.group.Targets...)) {
			if namespace == metav1.NamespaceAll {
				rules = append(slices.Clone(rules), rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}})
			}
			addRules(want, one.ServiceAccountName, namespace, rules)
		}
	}
	for _, one := range cluster {
		addRules(want, one.ServiceAccountName, "", one.Rules)
	}
	for _, one := range slices.Concat(own, cluster) {
		addRules(want, one.ServiceAccountName, home, []rbacv1.PolicyRule{{
			APIGroups: []string{"operators.coreos.com"}, Resources: []string{"operatorconditions"}, ResourceNames: []string{g.csv.Name}, Verbs: []string{"get", "update", "patch"},
		}})
	}
	has := map[string]bool{}
	for _, one := range g.bindings {
		rules, found := g.rules[one.role]
		if !found {
			g.problem(at, "a binding refers to %s, which is not made", one.role)
		}
		for _, subject := range one.subjects {
			if subject.Kind != "ServiceAccount" || subject.Namespace != home {
				g.problem(at, "permissions are granted to %s %s/%s", subject.Kind, subject.Namespace, subject.Name)
			}
			addRules(has, subject.Name, one.namespace, rules)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(want)) {
		if !has[rule] {
			g.problem(at, "not granted: %s", rule)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(has)) {
		if !want[rule] {
			g.problem(at, "granted, and not in the CSV: %s", rule)
		}
	}
}

// addRules adds a text for each rule of a ServiceAccount in a namespace, or in the cluster if that is empty.
func addRules(all map[string]bool, account, namespace string, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		text, err := json.Marshal(rule)
		if err != nil {
			panic(err) // it was decoded from JSON
		}
		all[fmt.Sprintf("%s in %q: %s", account, namespace, text)] = true
	}
}
