package project

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// Scope is where a permission holds.
type Scope string

// The scopes.
const (
	// ClusterScope is the whole cluster, as by a ClusterRoleBinding.
	ClusterScope Scope = "cluster"
	// NamespaceScope is one namespace, as by a RoleBinding.
	NamespaceScope Scope = "namespace"
)

// Grant is one Role or ClusterRole that the operator is to hold.
type Grant struct {
	// Role is the object as it is written; its Unstructured is nil when the project binds a
	// ClusterRole that it does not define, such as "view".
	Role Object
	// Kind and Name are the Role's.
	Kind, Name string
	// Scope is where it holds.
	Scope Scope
	// Namespace is where it holds in NamespaceScope, "" for the operator's own namespace.
	Namespace string
}

// ReadRole decodes the Role. One that the project does not define has no rules. The error names the Role's place.
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
	if err != nil {
		return nil, err
	}
	return GrantsOf(objects), nil
}

// GrantsOf are the permissions that Roles and bindings, as a project keeps them in config/rbac, give
// to the operator. Where there are bindings, they say which Roles are the operator's: kubebuilder
// keeps Roles for users (editor, viewer) beside them. Where there are none, all Roles are the
// operator's, except for those users' Roles.
func GrantsOf(objects []Object) []Grant {
	roles, own := map[string]Object{}, ownNamespaces(objects)
	var unbound, bound []Grant
	for _, object := range objects {
		switch object.GetKind() {
		case "Role", "ClusterRole":
			roles[object.GetKind()+"/"+object.GetName()] = object
			if !forUsers(object) {
				unbound = append(unbound, grantOf(object, own))
			}
		case "RoleBinding", "ClusterRoleBinding":
			if bindsServiceAccount(object) {
				bound = append(bound, grantBy(object, own))
			}
		}
	}
	if len(bound) == 0 {
		return unbound
	}
	for i := range bound {
		bound[i].Role = roles[bound[i].Kind+"/"+bound[i].Name]
	}
	return bound
}

// grantOf is the grant of a Role that no binding mentions.
func grantOf(role Object, own map[string]bool) Grant {
	grant := Grant{Role: role, Kind: role.GetKind(), Name: role.GetName(), Scope: ClusterScope}
	if grant.Kind == "Role" {
		grant.Scope, grant.Namespace = NamespaceScope, namespaceOf(role, own)
	}
	return grant
}

// grantBy is the grant that a binding makes.
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

// ownNamespaces returns the namespaces of the operator's ServiceAccounts. In a kustomization's output, they have the name
// of the namespace that the operator is installed in; in its source, they have kubebuilder's placeholder, "system".
func ownNamespaces(objects []Object) map[string]bool {
	own := map[string]bool{"system": true}
	for _, object := range objects {
		if object.GetKind() == "ServiceAccount" {
			own[object.GetNamespace()] = true
		}
		for _, subject := range serviceAccounts(object) {
			namespace, _ := subject["namespace"].(string)
			own[namespace] = true
		}
	}
	return own
}

func bindsServiceAccount(binding Object) bool { return len(serviceAccounts(binding)) > 0 }

// serviceAccounts returns the subjects of a binding that are ServiceAccounts.
func serviceAccounts(binding Object) []map[string]any {
	var found []map[string]any
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	for _, subject := range subjects {
		if fields, _ := subject.(map[string]any); fields["kind"] == "ServiceAccount" {
			found = append(found, fields)
		}
	}
	return found
}

// forUsers tells the Roles that kubebuilder scaffolds for a project's users by their names.
func forUsers(role Object) bool {
	for _, suffix := range []string{"-editor-role", "-viewer-role", "-admin-role", "metrics-reader"} {
		if strings.HasSuffix(role.GetName(), suffix) {
			return true
		}
	}
	return false
}
