package tree

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// noise lists kinds that Kubernetes' own controllers create along with others, and that are not informative for an operator's
// author. Events are watched separately.
var noise = []schema.GroupResource{
	{Resource: "endpoints"},
	{Resource: "events"},
	{Group: "events.k8s.io", Resource: "events"},
	{Group: "discovery.k8s.io", Resource: "endpointslices"},
	{Group: "apps", Resource: "controllerrevisions"},
	{Group: "coordination.k8s.io", Resource: "leases"},
	{Group: "metrics.k8s.io", Resource: "pods"},
	{Group: "metrics.k8s.io", Resource: "nodes"},
}

// kind is a kind that can be watched.
type kind struct {
	schema.GroupVersionResource
	namespaced bool
}

// kinds returns all kinds that can be listed and watched. API groups whose server does not answer are left out.
func kinds(client discovery.DiscoveryInterface) ([]kind, error) {
	lists, err := client.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("list the kinds of the API server: %w", err)
	}
	var found []kind
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if watchable(version.Group, resource) {
				found = append(found, kind{version.WithResource(resource.Name), resource.Namespaced})
			}
		}
	}
	return found, nil
}

func watchable(group string, resource metav1.APIResource) bool {
	verbs := []string(resource.Verbs)
	return slices.Contains(verbs, "list") && slices.Contains(verbs, "watch") &&
		!slices.Contains(noise, schema.GroupResource{Group: group, Resource: resource.Name})
}
