package project

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// Scope is the scope of a permission.
type Scope string

// The scopes.
const (
	// ClusterScope is the whole cluster, as in a ClusterRoleBinding.
	ClusterScope Scope = "cluster"
	// NamespaceScope is one namespace, as in a RoleBinding.
	NamespaceScope Scope = "namespace"
)

// Grant is one Role or ClusterRole that is granted to the operator.
type Grant struct {
	// Role is the object in the manifest. Its Unstructured is nil if the project binds a ClusterRole that it does not define,
	// such as "view".
	Role Object
	// Kind and Name are the kind and name of the Role.
	Kind, Name string
	// Scope is the scope in which it applies.
	Scope Scope
	// Namespace is the namespace in NamespaceScope, or "" for the operator's own namespace.
	Namespace string
}

// ReadRole decodes the Role. A Role that the project does not define has no rules. Errors name the Role's place.
func (g Grant) ReadRole() (*rbacv1.ClusterRole, error) {
	if g.Role.Unstructured == nil {
		return &rbacv1.ClusterRole{}, nil
	}
	role, err := kube.ReadRole(g.Role.Unstructured)
	if err != nil {
		return &rbacv1.ClusterRole{}, fmt.Errorf("%s: %w", g.Role.Place(), err)
	}
	return role, nil
}

// readGrants reads config/rbac.
func readGrants(root string) ([]Grant, error) {
	objects, err := ReadFolder(root, RBACFolder)
	return GrantsOf(root, objects), err
}

// GrantsOf returns the permissions that Roles and bindings in config/rbac of the project in dir grant to the operator. If there
// are bindings of its ServiceAccount, or of any if it is unknown, they define which Roles belong to the operator: kubebuilder also
// writes Roles for users (editor, viewer) there. If there are no bindings, all Roles except those for users belong to the operator.
func GrantsOf(dir string, objects []Object) []Grant {
	operator := accountOf(dir, objects)
	roles, own := map[key]Object{}, ownNamespaces(objects, operator)
	var unbound, bound []Grant
	for _, object := range objects {
		switch object.GetKind() {
		case "Role", "ClusterRole":
			grant := grantOf(object, own)
			roles[grant.key()] = object
			if !forUsers(object) {
				unbound = append(unbound, grant)
			}
		case "RoleBinding", "ClusterRoleBinding":
			if len(operator.subjectsOf(object)) > 0 {
				bound = append(bound, grantBy(object, own))
			}
		}
	}
	if len(bound) == 0 {
		return unbound
	}
	for i := range bound {
		bound[i].Role = roles[bound[i].key()]
	}
	return bound
}

// key identifies a Role: controller-gen writes one of the same name for each namespace in markers.
type key struct{ kind, name, namespace string }

func (g Grant) key() key {
	if g.Kind != "Role" {
		return key{kind: g.Kind, name: g.Name}
	}
	return key{g.Kind, g.Name, g.Namespace}
}

// grantOf returns the grant of a Role to which no binding refers.
func grantOf(role Object, own map[string]bool) Grant {
	grant := Grant{Role: role, Kind: role.GetKind(), Name: role.GetName(), Scope: ClusterScope}
	if grant.Kind == "Role" {
		grant.Scope, grant.Namespace = NamespaceScope, namespaceOf(role, own)
	}
	return grant
}

// grantBy returns the grant of a binding.
func grantBy(binding Object, own map[string]bool) Grant {
	kind, _, _ := unstructured.NestedString(binding.Object, "roleRef", "kind")
	name, _, _ := unstructured.NestedString(binding.Object, "roleRef", "name")
	grant := Grant{Kind: kind, Name: name, Scope: ClusterScope}
	if binding.GetKind() == "RoleBinding" {
		grant.Scope, grant.Namespace = NamespaceScope, namespaceOf(binding, own)
	}
	return grant
}

// namespaceOf returns the namespace of a Role or RoleBinding, or "" for the operator's own.
func namespaceOf(object Object, own map[string]bool) string {
	if namespace := object.GetNamespace(); !own[namespace] {
		return namespace
	}
	return ""
}

// ownNamespaces returns the namespaces of the operator's ServiceAccounts. In the output of a kustomization, this is the
// namespace in which the operator is installed; in its source, it is kubebuilder's placeholder "system".
func ownNamespaces(objects []Object, of account) map[string]bool {
	own := map[string]bool{"system": true}
	for _, object := range objects {
		if object.GetKind() == "ServiceAccount" && of.is(object.GetName()) {
			own[object.GetNamespace()] = true
		}
		for _, subject := range of.subjectsOf(object) {
			namespace, _ := subject["namespace"].(string)
			own[namespace] = true
		}
	}
	return own
}

// account is the name of the operator's ServiceAccount. If it is unknown, it is empty, and all count as the operator's.
type account string

// accountOf returns the ServiceAccount of the operator's Deployment in config/manager, if a binding names it. The operator's is
// the Deployment with a container named manager, or else the first with one container.
func accountOf(dir string, objects []Object) account {
	if dir == "" {
		return ""
	}
	manifests, err := ReadFolder(dir, "config/manager")
	if err != nil {
		return ""
	}
	var found account
	for _, object := range manifests {
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		isManager := slices.ContainsFunc(containers, func(one any) bool { c, _ := one.(map[string]any); return c["name"] == "manager" })
		if object.GetKind() != "Deployment" || !isManager && (found != "" || len(containers) != 1) {
			continue
		}
		name, _, _ := unstructured.NestedString(object.Object, "spec", "template", "spec", "serviceAccountName")
		found = account(cmp.Or(name, "default"))
		if isManager {
			break
		}
	}
	if !slices.ContainsFunc(objects, func(o Object) bool { return len(found.subjectsOf(o)) > 0 }) {
		return ""
	}
	return found
}

// is reports whether a ServiceAccount is the operator's. Some bindings name it as kustomize will, with a prefix.
func (a account) is(name string) bool {
	return a == "" || name == string(a) || a != "default" && strings.HasSuffix(name, "-"+string(a))
}

// subjectsOf returns the subjects of a binding that are this ServiceAccount.
func (a account) subjectsOf(binding Object) []map[string]any {
	var found []map[string]any
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	for _, subject := range subjects {
		fields, _ := subject.(map[string]any)
		if name, _ := fields["name"].(string); fields["kind"] == "ServiceAccount" && a.is(name) {
			found = append(found, fields)
		}
	}
	return found
}

// forUsers recognizes the Roles that kubebuilder scaffolds for a project's users by their names.
func forUsers(role Object) bool {
	for _, suffix := range []string{"-editor-role", "-viewer-role", "-admin-role", "metrics-reader"} {
		if strings.HasSuffix(role.GetName(), suffix) {
			return true
		}
	}
	return false
}
