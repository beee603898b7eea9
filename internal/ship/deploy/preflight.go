package deploy

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/rbac"
	"github.com/operon-framework/operon/internal/tools/up"
)

// permitted checks all permissions that Run needs. Namespaces and definitions belong to the whole cluster, so that a user may have permissions only
// for those of the operator.
func (d *deployer) permitted(ctx context.Context, objects []*unstructured.Unstructured) error {
	var needs []rbac.Permission
	others := []*unstructured.Unstructured{d.record.object()}
	for _, object := range objects {
		if !isNamespace(object) && !kube.IsCRD(object) {
			others = append(others, object)
			continue
		}
		more, err := d.named(ctx, object)
		if err != nil {
			return err
		}
		needs = append(needs, more...)
	}
	more, err := d.cluster.needs(others, "get", "list", "create", "patch", "delete")
	if err != nil {
		return err
	}
	pruning, err := d.pruning(ctx)
	if err != nil {
		return err
	}
	return d.cluster.mayAll(ctx, slices.Concat(needs, more, pruning, watching(d.operator.Namespace)))
}

// named returns the permissions for a namespace or a definition, by its name. Those of another client are not deleted, and such a namespace is
// not changed either.
func (d *deployer) named(ctx context.Context, object *unstructured.Unstructured) ([]rbac.Permission, error) {
	found, err := d.cluster.Mapping(object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	live, err := d.cluster.Get(ctx, object)
	if err != nil && !apierrors.IsForbidden(err) { // a missing permission is listed with the others
		return nil, err
	}
	var needs []rbac.Permission
	verbs := []string{"get", "patch"}
	switch {
	case live == nil:
		verbs = append(verbs, "delete") // if not everything can be created
		needs = permissions(found.Resource, "", "create")
	case isNamespace(live) && partOf(live) != d.record.id():
		verbs = []string{"get"}
	}
	for _, one := range permissions(found.Resource, "", verbs...) {
		one.Name = object.GetName()
		needs = append(needs, one)
	}
	return needs, nil
}

// pruning returns the permissions to find the objects of the previous version, and to remove those that this version lacks.
func (d *deployer) pruning(ctx context.Context) ([]rbac.Permission, error) {
	before, err := d.cluster.readRecord(ctx, d.record.operator, d.record.namespace)
	if apierrors.IsForbidden(err) || err == nil && before == nil {
		return nil, nil // a missing permission is listed with the others
	}
	if err != nil {
		return nil, err
	}
	var needs []rbac.Permission
	all := d.record.with(before)
	for kind := range all.kinds {
		if kind == namespaces || kind.Kind == "CustomResourceDefinition" {
			continue // found by name, and kept
		}
		found, err := d.cluster.Mapping(kind.WithVersion(""))
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		spaces := []string{""}
		if found.Scope.Name() == meta.RESTScopeNameNamespace {
			spaces = append(slices.Collect(maps.Keys(all.namespaces)), d.record.namespace)
		}
		for _, space := range spaces {
			verbs := []string{"list"}
			if !d.record.kinds[kind] || space != "" && space != d.record.namespace && !d.record.namespaces[space] {
				verbs = append(verbs, "delete")
			}
			needs = append(needs, permissions(found.Resource, space, verbs...)...)
		}
		if kind == corev1.SchemeGroupVersion.WithKind("Service").GroupKind() && !d.record.kinds[kind] && !d.operator.Webhooks {
			for _, calling := range up.CallingKinds {
				needs = append(needs, permissions(calling, "", "list", "delete")...)
			}
		}
	}
	return needs, nil
}

// watching returns the permissions to read the pods.
func watching(namespace string) []rbac.Permission {
	return []rbac.Permission{
		{Verb: "get", Group: "apps", Resource: "deployments", Namespace: namespace},
		{Verb: "list", Group: "apps", Resource: "replicasets", Namespace: namespace},
		{Verb: "list", Resource: "pods", Namespace: namespace},
		{Verb: "get", Resource: "pods/log", Namespace: namespace},
	}
}
