package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/tools/rbac"
)

const (
	// shardsLabel is the label of Leases of replicas that divide objects among themselves.
	shardsLabel = "operon.dev/shards"
	// certificatesSuffix follows the name of an operator in the name of the Secret with the certificates of its webhooks.
	certificatesSuffix = "-webhook-certificates"
)

// ownKinds lists kinds of objects that the operator creates in its namespace.
var ownKinds = []schema.GroupVersionResource{
	{Version: "v1", Resource: "secrets"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
}

// removeOwn deletes the objects that the operator created for itself. If they remained, API servers would try to call it.
func (u *undeployer) removeOwn(ctx context.Context) error {
	if err := u.unregister(ctx); err != nil {
		return err
	}
	all, err := u.policies(ctx)
	if err != nil {
		return err
	}
	for _, kind := range ownKinds {
		found, err := u.cluster.List(ctx, kind, u.record.namespace, "")
		if err != nil {
			return err
		}
		all = append(all, slices.DeleteFunc(found, func(object *unstructured.Unstructured) bool { return !u.made(object) })...)
	}
	return u.remove(ctx, all)
}

// unregister removes what makes API servers call the operator.
func (u *undeployer) unregister(ctx context.Context) error {
	all, err := u.cluster.registered(ctx, u.record)
	if err != nil {
		return err
	}
	return u.remove(ctx, all)
}

// policies returns the policies that the operator registered. It returns none while the same operator is or may be deployed in another namespace:
// nothing in a policy says which of the two registered it, and a policy without an operator does no harm.
func (u *undeployer) policies(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if u.data.namesake || u.data.hidden {
		return nil, nil
	}
	var all []*unstructured.Unstructured
	for _, kind := range policyKinds {
		found, err := u.cluster.List(ctx, kind, "", plan.ManagedByLabel+"="+u.record.operator)
		if apierrors.IsForbidden(err) { // not needed, see permitted
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, isChild)...)
	}
	return all, nil
}

// made reports whether a Secret or Lease in the namespace belongs to the operator itself, rather than to a custom resource. While custom
// resources are kept, only the certificates certainly do: another Secret can be the password of a custom resource in another namespace, which cannot
// be its owner.
func (u *undeployer) made(object *unstructured.Unstructured) bool {
	name, labels := object.GetName(), object.GetLabels()
	if object.GetKind() == "Lease" {
		return slices.Contains(rbac.LeaseNames(u.record.operator, true), name) || labels[shardsLabel] == u.record.operator
	}
	if labels[plan.ManagedByLabel] != u.record.operator || isChild(object) || len(object.GetOwnerReferences()) > 0 {
		return false
	}
	return !u.options.KeepData || name == u.record.operator+certificatesSuffix
}

// removeNamespaces deletes the operator's namespace, unless it contains objects of another client.
func (u *undeployer) removeNamespaces(ctx context.Context, namespaces []*unstructured.Unstructured) error {
	for _, namespace := range namespaces {
		others, err := u.cluster.inside(ctx, namespace.GetName())
		if err != nil {
			return err
		}
		if len(others) == 0 {
			if err := u.remove(ctx, []*unstructured.Unstructured{namespace}); err != nil {
				return err
			}
			continue
		}
		u.keep(namespace, "it holds what `"+u.options.Commands.Deploy+"` did not make: "+strings.Join(others, ", "))
		if err := u.disown(ctx, namespace); err != nil {
			return err
		}
	}
	return nil
}

// disown removes the deployment's label from a namespace that remains.
func (u *undeployer) disown(ctx context.Context, namespace *unstructured.Unstructured) error {
	if _, err := u.cluster.Merge(ctx, namespace, labelled(plan.PartOfLabel, nil)); err != nil {
		return fmt.Errorf("remove the deployment's label from %s, which is kept: %w", addressOf(namespace), err)
	}
	return nil
}

// labelled returns a patch that sets a label, or removes it.
func labelled(key string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{key: value}}}
}

// inside returns the objects in a namespace that Kubernetes did not create automatically.
func (c *cluster) inside(ctx context.Context, namespace string) ([]string, error) {
	c.Refresh() // CustomResourceDefinitions are gone
	kinds, unknown, err := c.Deletable()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, group := range unknown {
		all = append(all, "objects of "+group+", which does not answer")
	}
	for _, kind := range kinds {
		if !kind.Namespaced {
			continue
		}
		found, err := c.unnatural(ctx, kind.GroupVersionResource, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// unnatural returns the objects of a kind in a namespace that a client created.
func (c *cluster) unnatural(ctx context.Context, kind schema.GroupVersionResource, namespace string) ([]string, error) {
	found, err := c.List(ctx, kind, namespace, "")
	if apierrors.IsForbidden(err) { // then it is unknown
		return []string{kind.Resource + ", which you may not list"}, nil
	}
	if lacksConversion(err) {
		return []string{kind.GroupResource().String() + ", which cannot be listed without the operator that converts them"}, nil
	}
	if apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	var all []string
	for _, object := range found {
		if !natural(object) && !c.ownedInside(object) {
			all = append(all, addressOf(object))
		}
	}
	return all, err
}

// ownedInside reports whether an object is deleted together with another object in its namespace, or is being deleted
// already. A cluster-scoped owner may remain, and so may its child objects.
func (c *cluster) ownedInside(object *unstructured.Unstructured) bool {
	owners := object.GetOwnerReferences()
	if len(owners) == 0 || object.GetDeletionTimestamp() != nil {
		return len(owners) > 0
	}
	return slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool {
		found, err := c.Mapping(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind().WithVersion(""))
		return err != nil || found.Scope.Name() == meta.RESTScopeNameNamespace // if the kind does not exist, neither does the owner
	})
}

// natural reports whether Kubernetes creates an object in each namespace.
func natural(object *unstructured.Unstructured) bool {
	switch object.GetKind() {
	case "ConfigMap":
		return object.GetName() == "kube-root-ca.crt"
	case "ServiceAccount":
		return object.GetName() == "default"
	case "Event", "Lease":
		return true
	case "Endpoints":
		return object.GetLabels()["endpoints.kubernetes.io/managed-by"] != ""
	}
	return false
}
