// Package limit compares what an operator gets with the permissions of the ServiceAccount of its OperatorGroup. The manager itself may do
// everything, so that it has to refuse what the ServiceAccount could not do.
package limit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster answers questions about the API server.
type Cluster interface {
	// Allowed reports whether a ServiceAccount has all permissions of a rule in a namespace, or in the whole cluster if it is empty.
	Allowed(ctx context.Context, account client.ObjectKey, namespace string, rule rbacv1.PolicyRule) (bool, error)
	// Resource returns the resource of a kind, or an empty string if the API server does not have the kind.
	Resource(kind schema.GroupVersionKind) (string, error)
}

// maxMissing is how many missing permissions are listed: a status should stay readable.
const maxMissing = 10

// Missing returns what a ServiceAccount would have to be allowed so that it could create, change and delete objects, and grant the permissions
// in them. Like the API server, it does not let an account grant what it may not do itself. The list is cut after some.
func Missing(ctx context.Context, cluster Cluster, account client.ObjectKey, objects []client.Object) ([]string, error) {
	c := &check{cluster: cluster, account: account, objects: objects}
	for _, object := range objects {
		if err := c.write(ctx, object); err != nil {
			return nil, err
		}
		if err := c.grant(ctx, object); err != nil {
			return nil, err
		}
	}
	if more := len(c.missing) - maxMissing; more > 0 {
		return append(c.missing[:maxMissing], fmt.Sprintf("and %d more", more)), nil
	}
	return c.missing, nil
}

// Grants is like Missing for permissions alone, without the permission to write the objects.
func Grants(ctx context.Context, cluster Cluster, account client.ObjectKey, objects []client.Object) ([]string, error) {
	c := &check{cluster: cluster, account: account, objects: objects}
	for _, object := range objects {
		if err := c.grant(ctx, object); err != nil {
			return nil, err
		}
	}
	return c.missing[:min(len(c.missing), maxMissing)], nil
}

type check struct {
	cluster Cluster
	account client.ObjectKey
	objects []client.Object
	missing []string
}

func (c *check) write(ctx context.Context, object client.Object) error {
	kind := object.GetObjectKind().GroupVersionKind()
	resource, err := c.cluster.Resource(kind)
	if err != nil || resource == "" { // without the kind, the object cannot be written anyway
		return err
	}
	return c.need(ctx, object.GetNamespace(), rbacv1.PolicyRule{
		APIGroups: []string{kind.Group}, Resources: []string{resource}, Verbs: []string{"create", "update", "delete"},
	})
}

// grant demands what an object of RBAC grants.
func (c *check) grant(ctx context.Context, object client.Object) error {
	switch kind := object.GetObjectKind().GroupVersionKind(); {
	case kind.Group != rbacv1.GroupName:
		return nil
	case kind.Kind == "Role" || kind.Kind == "ClusterRole":
		var role rbacv1.ClusterRole // a Role has a part of its fields
		if err := convert(object, &role); err != nil {
			return err
		}
		if role.AggregationRule != nil { // what it grants can change at any time
			role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
		}
		for _, rule := range role.Rules {
			if err := c.need(ctx, object.GetNamespace(), rule); err != nil {
				return err
			}
		}
	case kind.Kind == "RoleBinding" || kind.Kind == "ClusterRoleBinding":
		var binding rbacv1.ClusterRoleBinding
		if err := convert(object, &binding); err != nil {
			return err
		}
		return c.bind(ctx, object.GetNamespace(), binding.RoleRef)
	}
	return nil
}

// bind demands the permission to bind a role that is not among the objects.
func (c *check) bind(ctx context.Context, namespace string, role rbacv1.RoleRef) error {
	if slices.ContainsFunc(c.objects, func(one client.Object) bool {
		return one.GetObjectKind().GroupVersionKind().GroupKind() == schema.GroupKind{Group: rbacv1.GroupName, Kind: role.Kind} &&
			one.GetName() == role.Name && (role.Kind == "ClusterRole" || one.GetNamespace() == namespace)
	}) {
		return nil
	}
	return c.need(ctx, namespace, rbacv1.PolicyRule{
		APIGroups: []string{rbacv1.GroupName}, Resources: []string{strings.ToLower(role.Kind) + "s"}, ResourceNames: []string{role.Name}, Verbs: []string{"bind"},
	})
}

func (c *check) need(ctx context.Context, namespace string, rule rbacv1.PolicyRule) error {
	allowed, err := c.cluster.Allowed(ctx, c.account, namespace, rule)
	if err != nil {
		return fmt.Errorf("check the permissions of the ServiceAccount %s: %w", c.account, err)
	}
	if text := describe(namespace, rule); !allowed && !slices.Contains(c.missing, text) {
		c.missing = append(c.missing, text)
	}
	return nil
}

// describe returns a rule in words, such as "create, update pods, services.apps in the namespace till".
func describe(namespace string, rule rbacv1.PolicyRule) string {
	var what []string
	for _, resource := range rule.Resources {
		for _, group := range rule.APIGroups {
			what = append(what, strings.TrimSuffix(resource+"."+group, "."))
		}
	}
	text := strings.Join(rule.Verbs, ", ") + " " + strings.Join(append(what, rule.NonResourceURLs...), ", ")
	if len(rule.ResourceNames) > 0 {
		text += " " + strings.Join(rule.ResourceNames, ", ")
	}
	if namespace == metav1.NamespaceAll {
		return text + " in the cluster"
	}
	return text + " in the namespace " + namespace
}

func convert(object client.Object, into any) error {
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object.DeepCopyObject()) // of an object without a type, it is the object itself
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(plain, "metadata") // not used, and bundles have mistakes in it
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(plain, into); err != nil {
		return fmt.Errorf("%s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	return nil
}
