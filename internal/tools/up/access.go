package up

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

const rbacVersion = "rbac.authorization.k8s.io/v1"

// identity is the operator's identity in the cluster.
type identity struct {
	namespace, name string
}

func identityOf(p *project.Project) identity {
	return identity{namespace: p.Name + identitySuffix, name: p.Name}
}

// identitySuffix ends the name of the namespace of an operator, after the name of the project.
const identitySuffix = "-system"

// user returns the API server's name of the identity.
func (i identity) user() string { return "system:serviceaccount:" + i.namespace + ":" + i.name }

// installAccess applies the operator's namespace, its ServiceAccount and the permissions of the ServiceAccount, and removes
// permissions that the project no longer grants.
//
// The argument local reports that the API server runs on this machine. An operator that is itself an API server then gets a
// Service that leads to this machine.
func installAccess(ctx context.Context, in *installer, p *project.Project, local bool) error {
	who := identityOf(p)
	if _, err := in.apply(ctx, object("v1", "Namespace", "", who.namespace, nil)); err != nil {
		return err
	}
	granted := map[string]bool{}
	for _, one := range who.access(p, local) {
		if err := in.applyOurs(ctx, one.object); err != nil {
			return placedIfWritten(one.role, err)
		}
		granted[tree.Address(one.object)] = true
	}
	// If they remained, a permission that the project lacks would not be noticed.
	return in.takeBack(ctx, p, granted, accessResources...)
}

// checkAccess returns an error if an object of the operator's access was not created by Run: the operator seems to be deployed. Nothing was changed
// before.
func checkAccess(ctx context.Context, in *installer, p *project.Project, local bool) error {
	for _, one := range identityOf(p).access(p, local) {
		if err := in.checkOurs(ctx, one.object); err != nil {
			return placedIfWritten(one.role, err)
		}
	}
	return nil
}

// part is an object of the operator's access.
type part struct {
	object *unstructured.Unstructured
	// role is the Role of the project that it comes from. The zero value is none.
	role project.Object
}

// access returns the objects of the operator's access: its ServiceAccount, the Service of an API server, and its permissions.
func (i identity) access(p *project.Project, local bool) []part {
	all := []part{{object: object("v1", "ServiceAccount", i.namespace, i.name, nil)}}
	if local && p.Main.ServesAPI() {
		all = append(all, part{object: i.service()})
	}
	for _, grant := range p.Grants {
		for _, object := range i.parts(grant) {
			all = append(all, part{object, grant.Role})
		}
	}
	return all
}

// accessResources lists the resources of Roles and their bindings.
var accessResources = []schema.GroupVersionResource{
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
}

// service returns a Service that leads to this machine, whatever the port is: an operator's API server is found only through
// a Service.
func (i identity) service() *unstructured.Unstructured {
	return object("v1", "Service", i.namespace, i.name, map[string]any{
		"spec": map[string]any{"type": "ExternalName", "externalName": "localhost"},
	})
}

// parts returns the objects of a grant in the cluster: its binding and, unless the project only refers to the Role, the Role
// with a name of the project.
func (i identity) parts(grant project.Grant) []*unstructured.Unstructured {
	namespace := ""
	if grant.Scope == project.NamespaceScope {
		namespace = i.orOwn(grant.Namespace)
	}
	if grant.Role.Unstructured == nil {
		return []*unstructured.Unstructured{i.binding(grant, grant.Name, namespace)}
	}
	role := grant.Role.DeepCopy()
	role.SetName(i.prefixed(grant.Name))
	role.SetNamespace("")
	if grant.Kind == "Role" {
		role.SetNamespace(i.orOwn(grant.Namespace))
	}
	return []*unstructured.Unstructured{role, i.binding(grant, role.GetName(), namespace)}
}

func (i identity) orOwn(namespace string) string {
	if namespace == "" {
		return i.namespace
	}
	return namespace
}

// prefixed returns the name of a Role in the cluster, which differs from the names in all other projects.
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
	return object(rbacVersion, kind, namespace, i.prefixed(role), map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": grant.Kind, "name": role},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": i.namespace, "name": i.name}},
	})
}

// takeBack deletes the project's objects from earlier runs that are neither wanted nor samples, in the order of the resources.
func (in *installer) takeBack(ctx context.Context, p *project.Project, wanted map[string]bool, resources ...schema.GroupVersionResource) error {
	for _, sample := range p.Samples {
		copied := sample.DeepCopy()
		if err := in.Place(copied, in.namespace); err == nil { // otherwise applying it reports the error
			wanted[tree.Address(copied)] = true
		}
	}
	for _, resource := range resources {
		made, err := in.List(ctx, resource, "", Label+"="+in.project)
		if err != nil {
			return err
		}
		for _, object := range made {
			if wanted[tree.Address(object)] {
				continue
			}
			err := in.Dynamic.Resource(resource).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{}) // deleted immediately: it is effective as long as it exists
			if err != nil && !kube.IsGone(err) {
				return err
			}
		}
	}
	return nil
}

// placedIfWritten is like placed, for a Role that the project defines.
func placedIfWritten(role project.Object, err error) error {
	if role.Unstructured == nil {
		return err
	}
	return placed(role, err)
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
