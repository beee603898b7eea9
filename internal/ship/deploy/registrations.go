package deploy

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
)

// callingKinds lists the kinds with which an operator makes API servers call its Service.
var callingKinds = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
}

// policyKinds lists the kinds of rules that API servers check themselves.
var policyKinds = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
}

// registered returns the objects of some kinds that an operator registered for itself, rather than for a custom resource, and that make API
// servers call Services in its namespace. Deployments of the same operator in other namespaces have their own.
func (c *cluster) registered(ctx context.Context, r *record, kinds []schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, kind := range kinds {
		found, err := c.List(ctx, kind, "", managedByLabel+"="+r.operator)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, func(object *unstructured.Unstructured) bool {
			return isChild(object) || !calls(object, r.namespace)
		})...)
	}
	return all, nil
}

// isChild reports whether an operator created an object for a custom resource.
func isChild(object *unstructured.Unstructured) bool {
	return object.GetLabels()[plan.OwnerLabel] != ""
}

// calls reports whether API servers call a Service in a namespace because of an object.
func calls(object *unstructured.Unstructured, namespace string) bool {
	service, _, _ := unstructured.NestedString(object.Object, "spec", "service", "namespace")
	if service == namespace {
		return true
	}
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	return slices.ContainsFunc(webhooks, func(one any) bool {
		fields, _ := one.(map[string]any)
		service, _, _ := unstructured.NestedString(fields, "clientConfig", "service", "namespace")
		return service == namespace
	})
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
	found, err := d.cluster.registered(ctx, d.record, callingKinds)
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
