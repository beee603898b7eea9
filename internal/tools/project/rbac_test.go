package project_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/tools/project"
)

const (
	editor = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: web-editor-role\n"
	leader = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: leader-election-role\n"
)

func binding(kind, roleKind, role, subject, namespace string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata:\n  name: any\n  namespace: " + namespace +
		"\nroleRef:\n  kind: " + roleKind + "\n  name: " + role + "\nsubjects:\n- kind: " + subject + "\n  name: any\n"
}

// shape is a grant without its object.
type shape struct {
	kind, name string
	scope      project.Scope
	namespace  string
	written    bool
}

func shapes(p *project.Project) []shape {
	var all []shape
	for _, grant := range p.Grants {
		all = append(all, shape{grant.Kind, grant.Name, grant.Scope, grant.Namespace, grant.Role.Unstructured != nil})
	}
	return all
}

func TestGrantsAreAllRolesWhereNothingIsBound(t *testing.T) {
	t.Parallel()
	p := read(t, files{"config/rbac/editor.yaml": editor, "config/rbac/leader.yaml": leader})
	want := []shape{
		{"Role", "leader-election-role", project.NamespaceScope, "", true},
		{"ClusterRole", "manager-role", project.ClusterScope, "", true},
	}
	compare(t, shapes(p), want)
}

func TestGrantsAreWhatIsBoundToAServiceAccount(t *testing.T) {
	t.Parallel()
	p := read(t, files{
		"config/rbac/editor.yaml": editor,
		"config/rbac/leader.yaml": leader,
		"config/rbac/b1.yaml":     binding("ClusterRoleBinding", "ClusterRole", "manager-role", "ServiceAccount", ""),
		"config/rbac/b2.yaml":     binding("RoleBinding", "Role", "leader-election-role", "ServiceAccount", "system"),
		"config/rbac/b3.yaml":     binding("RoleBinding", "ClusterRole", "view", "ServiceAccount", "monitoring"),
		"config/rbac/b4.yaml":     binding("ClusterRoleBinding", "ClusterRole", "web-editor-role", "User", ""),
	})
	want := []shape{
		{"ClusterRole", "manager-role", project.ClusterScope, "", true},
		{"Role", "leader-election-role", project.NamespaceScope, "", true},
		{"ClusterRole", "view", project.NamespaceScope, "monitoring", false},
	}
	compare(t, shapes(p), want)
}

// Bindings of other ServiceAccounts, and their namespaces, are not the operator's if its own one is known.
func TestGrantsOfOtherServiceAccountsAreNotTheOperators(t *testing.T) {
	t.Parallel()
	all := files{
		"config/rbac/accounts.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: other\n  namespace: monitoring\n",
		"config/rbac/leader.yaml":   strings.Replace(leader, "metadata:", "metadata:\n  namespace: monitoring", 1),
		"config/rbac/b1.yaml":       binding("ClusterRoleBinding", "ClusterRole", "manager-role", "ServiceAccount", ""),
		"config/rbac/b2.yaml":       binding("RoleBinding", "Role", "leader-election-role", "ServiceAccount", "monitoring"),
		"config/rbac/b3.yaml":       strings.Replace(binding("ClusterRoleBinding", "ClusterRole", "view", "ServiceAccount", ""), "Account\n  name: any", "Account\n  namespace: monitoring\n  name: other", 1),
	}
	manager := shape{"ClusterRole", "manager-role", project.ClusterScope, "", true}
	leads := shape{"Role", "leader-election-role", project.NamespaceScope, "", true}
	other := shape{"ClusterRole", "view", project.ClusterScope, "", false}
	for account, want := range map[string][]shape{"unknown": {manager, leads, other}, "any": {manager, leads}, "other": {other}} {
		all["config/manager/manager.yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: manager\nspec: {template: {spec: {serviceAccountName: " + account + ", containers: [{name: manager}]}}}\n"
		if account == "any" {
			want[1].namespace = "monitoring" // which is not the operator's own
		}
		compare(t, shapes(read(t, all)), want)
	}
}

// controller-gen writes a Role of the same name for each namespace in markers.
func TestRolesOfOneNameAreToldApartByTheirNamespaces(t *testing.T) {
	t.Parallel()
	role := func(namespace, resource string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: manager-role\n  namespace: " + namespace + "\nrules:\n- resources: [" + resource + "]\n---\n"
	}
	p := read(t, files{
		"config/rbac/role.yaml": role("system", "pods") + role("monitoring", "services") + role("default", "nodes"),
		"config/rbac/b1.yaml":   binding("RoleBinding", "Role", "manager-role", "ServiceAccount", "monitoring"),
		"config/rbac/b2.yaml":   binding("RoleBinding", "Role", "manager-role", "ServiceAccount", "system"),
	})
	var got []string
	for _, grant := range p.Grants {
		role, err := grant.ReadRole()
		if err != nil || len(role.Rules) != 1 {
			t.Fatalf("%v, %v", role, err)
		}
		got = append(got, grant.Namespace+" "+role.Rules[0].Resources[0])
	}
	if want := []string{"monitoring services", " pods"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func compare(t *testing.T, got, want []shape) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %+v\nwant %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}
