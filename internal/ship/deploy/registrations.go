package deploy

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/up"
)

// policyKinds lists the kinds of rules that API servers check themselves.
var policyKinds = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
}

// registered returns the objects that make API servers call Services in the operator's namespace. Deployments of the same operator in other
// namespaces have their own.
func (c *cluster) registered(ctx context.Context, r *record) ([]*unstructured.Unstructured, error) {
	return up.Registrations(ctx, c.Client, r.operator, r.namespace, false, up.CallingKinds...)
}

// isChild reports whether an operator created an object for a custom resource.
func isChild(object *unstructured.Unstructured) bool {
	return object.GetLabels()[plan.OwnerLabel] != ""
}

// registers reports whether the operator may have created objects of a kind for itself: its ClusterRoles name the kind, or are those of
// another client.
func (u *undeployer) registers(kind schema.GroupVersionResource) bool {
	roles := u.which(func(object *unstructured.Unstructured) bool { return object.GetKind() == "ClusterRole" })
	return slices.ContainsFunc(roles, func(role *unstructured.Unstructured) bool {
		read, err := kube.ReadRole(role)
		return err != nil || slices.ContainsFunc(read.Rules, func(rule rbacv1.PolicyRule) bool { return names(rule, kind) })
	}) || slices.ContainsFunc(u.members, func(binding *unstructured.Unstructured) bool {
		bound, _, _ := unstructured.NestedString(binding.Object, "roleRef", "name")
		return binding.GetKind() == "ClusterRoleBinding" && !slices.ContainsFunc(roles, func(role *unstructured.Unstructured) bool { return role.GetName() == bound })
	})
}

// names reports whether a rule grants anything on a kind.
func names(rule rbacv1.PolicyRule, kind schema.GroupVersionResource) bool {
	has := func(list []string, one string) bool { return slices.Contains(list, one) || slices.Contains(list, "*") }
	return has(rule.APIGroups, kind.Group) && has(rule.Resources, kind.Resource)
}

// abandons reports whether the previous version of the operator served webhooks, behind a Service that is pruned, and this one does not.
func (d *deployer) abandons(surplus []*unstructured.Unstructured) bool {
	return !d.operator.Webhooks && slices.ContainsFunc(surplus, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "Service" && object.GetAPIVersion() == "v1"
	})
}

// unregister removes what makes API servers call an operator that no longer serves webhooks. It has no permission to remove them itself any
// more, and API servers would reject all writes of its kinds as soon as its Service is gone.
func (d *deployer) unregister(ctx context.Context) error {
	found, err := d.cluster.registered(ctx, d.record)
	if err != nil {
		return fmt.Errorf("find the webhooks that the operator no longer serves: %w", err)
	}
	for _, object := range found {
		if err := d.cluster.Delete(ctx, object); err != nil {
			return fmt.Errorf("remove %s, which the operator no longer serves: %w", addressOf(object), err)
		}
		d.result.Pruned = append(d.result.Pruned, addressOf(object))
		d.options.say("removed %s, which the operator no longer serves", addressOf(object))
	}
	return nil
}

// converted returns the CRDs whose versions the API server converts by calling the operator, although this version does not serve that: an
// apply that leaves spec.conversion out does not change it.
func (d *deployer) converted() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, one := range d.items {
		if d.operator.Webhooks || one.live == nil || !kube.IsCRD(one.want) {
			continue
		}
		want, err := kube.ReadCRD(one.want)
		if err != nil {
			return nil, err
		}
		live, err := kube.ReadCRD(one.live)
		if err != nil {
			return nil, err
		}
		service := live.ConvertedBy()
		if service != nil && service.Namespace == d.record.namespace && want.Spec.Conversion == nil && len(want.Spec.Versions) > 1 {
			all = append(all, one.live)
		}
	}
	return all, nil
}

// unconverted returns an error if objects could no longer be read.
func (d *deployer) unconverted() error {
	found, err := d.converted()
	if err != nil || len(found) == 0 {
		return err
	}
	return fmt.Errorf("nothing was deployed, because this version of the operator serves no webhooks, and API servers call it to convert objects of %s: keep the conversion until the CRD has a single version, or let API servers change only the version of objects with --unsafe-crds, which loses what the conversion preserves", addressOf(found[0]))
}

// stopConversion makes API servers change only the version of objects that the operator no longer converts.
func (d *deployer) stopConversion(ctx context.Context) error {
	found, err := d.converted()
	if err != nil {
		return err
	}
	for _, definition := range found {
		none := map[string]any{"spec": map[string]any{"conversion": map[string]any{"strategy": "None", "webhook": nil}}}
		if _, err := d.cluster.Merge(ctx, definition, none); err != nil {
			return fmt.Errorf("stop the conversion of %s: %w", addressOf(definition), err)
		}
	}
	return nil
}
