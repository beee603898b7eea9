package up

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/removal"
)

// managedByLabel is the label of objects that an operator registers for itself, with the operator's name.
const managedByLabel = "app.kubernetes.io/managed-by"

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// registeredKinds are the kinds with which an operator makes API servers call it.
var registeredKinds = []schema.GroupVersionResource{
	apiServices,
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
}

// registrations returns the objects of some kinds with which an operator makes API servers call it: they have its name, and lead to its
// namespace or to this machine.
func registrations(ctx context.Context, client *kube.Client, who identity, kinds ...schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, kind := range kinds {
		found, err := client.List(ctx, kind, "", managedByLabel+"="+who.name)
		if apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, func(one *unstructured.Unstructured) bool { return !leadsTo(one, who) })...)
	}
	return all, nil
}

// leadsTo reports whether API servers would call an operator because of an object.
func leadsTo(object *unstructured.Unstructured, who identity) bool {
	if namespace, _, _ := unstructured.NestedString(object.Object, "spec", "service", "namespace"); namespace != "" {
		return namespace == who.namespace
	}
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	return len(webhooks) > 0 && !slices.ContainsFunc(webhooks, func(one any) bool {
		fields, _ := one.(map[string]any)
		namespace, in, _ := unstructured.NestedString(fields, "clientConfig", "service", "namespace")
		address, _, _ := unstructured.NestedString(fields, "clientConfig", "url")
		return in && namespace != who.namespace || !in && !onThisMachine(address)
	})
}

// onThisMachine reports whether a URL leads to the loopback interface, as those of an operator that runs outside of its cluster do.
func onThisMachine(address string) bool {
	at, err := url.Parse(address)
	return err == nil && (at.Hostname() == "localhost" || net.ParseIP(at.Hostname()).IsLoopback())
}

// unregister removes the APIServices of an operator that was stopped: while nothing answers for them, no namespace of the cluster can be deleted,
// and no garbage is collected. The operator registers them again when it starts.
func (s *session) unregister(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.unregister)
	defer cancel()
	client := s.installer.Client
	found, err := registrations(ctx, client, identityOf(s.project), apiServices)
	if err == nil {
		err = (&removal.Remover{Client: client, Gone: func(*unstructured.Unstructured) {}}).Remove(ctx, found)
	}
	if err != nil {
		return fmt.Errorf("remove the APIServices of the operator: %w", err)
	}
	return nil
}
