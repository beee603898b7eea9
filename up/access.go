package up

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/project"
)

// identity is who the operator is in the cluster.
type identity struct {
	namespace, name string
}

func identityOf(p *project.Project) identity {
	return identity{namespace: p.Name + "-system", name: p.Name}
}

// user is the name by which the API server knows the identity.
func (i identity) user() string { return "system:serviceaccount:" + i.namespace + ":" + i.name }

// installAccess puts the operator's namespace, its ServiceAccount and what that is granted into the cluster.
func installAccess(ctx context.Context, in *installer, p *project.Project) error {
	who := identityOf(p)
	if _, err := in.apply(ctx, object("v1", "Namespace", "", who.namespace, nil)); err != nil {
		return err
	}
	if err := in.applyOurs(ctx, object("v1", "ServiceAccount", who.namespace, who.name, nil)); err != nil {
		return err
	}
	for _, grant := range p.Grants {
		if err := installGrant(ctx, in, who, grant); err != nil {
			return err
		}
	}
	return nil
}

// installGrant puts a Role into the cluster under a name of the project's, and binds it.
func installGrant(ctx context.Context, in *installer, who identity, grant project.Grant) error {
	namespace := grant.Namespace
	if namespace == "" {
		namespace = who.namespace
	}
	name := grant.Name
	if grant.Role.Unstructured != nil {
		name = who.prefixed(grant.Name)
		role := grant.Role.DeepCopy()
		role.SetName(name)
		role.SetNamespace(namespace) // ignored by a ClusterRole
		if err := in.applyOurs(ctx, role); err != nil {
			return placed(grant.Role, err)
		}
	}
	return in.applyOurs(ctx, who.binding(grant, name, namespace))
}

// prefixed is a Role's name in the cluster, which no other project's has.
func (i identity) prefixed(role string) string {
	if role == i.name || strings.HasPrefix(role, i.name+"-") {
		return role
	}
	return i.name + "-" + role
}

func (i identity) binding(grant project.Grant, role, namespace string) *unstructured.Unstructured {
	kind := "ClusterRoleBinding"
	if grant.Scope == project.NamespaceScope {
		kind = "RoleBinding"
	}
	return object("rbac.authorization.k8s.io/v1", kind, namespace, i.prefixed(role), map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": grant.Kind, "name": role},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": i.namespace, "name": i.name}},
	})
}

func object(version, kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range fields {
		made.Object[field] = value
	}
	made.SetAPIVersion(version)
	made.SetKind(kind)
	made.SetNamespace(namespace)
	made.SetName(name)
	return made
}
