package up

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/removal"
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// CallingKinds are the kinds with which an operator makes API servers call it.
var CallingKinds = []schema.GroupVersionResource{
	apiServices,
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
}

// Registrations returns the objects of some kinds that an operator created for itself, rather than for a custom resource, and with which it makes
// API servers call it: they have its name, and lead to its namespace or, if it runs outside of the cluster, to this machine. Kinds that the user
// may not list are left out.
func Registrations(ctx context.Context, client *kube.Client, name, namespace string, outside bool, kinds ...schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, kind := range kinds {
		found, err := client.List(ctx, kind, "", plan.ManagedByLabel+"="+name)
		if apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(found, func(one *unstructured.Unstructured) bool {
			return one.GetLabels()[plan.OwnerLabel] != "" || !leadsTo(one, namespace, outside)
		})...)
	}
	return all, nil
}

// leadsTo reports whether API servers would call an operator in a namespace, or outside of the cluster, because of an object.
func leadsTo(object *unstructured.Unstructured, to string, outside bool) bool {
	if namespace, _, _ := unstructured.NestedString(object.Object, "spec", "service", "namespace"); namespace != "" {
		return namespace == to
	}
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	return len(webhooks) > 0 && !slices.ContainsFunc(webhooks, func(one any) bool {
		fields, _ := one.(map[string]any)
		namespace, in, _ := unstructured.NestedString(fields, "clientConfig", "service", "namespace")
		address, _, _ := unstructured.NestedString(fields, "clientConfig", "url")
		return in && namespace != to || !in && !(outside && onThisMachine(address))
	})
}

// onThisMachine reports whether a URL leads to the loopback interface, as those of an operator that runs outside of its cluster do.
func onThisMachine(address string) bool {
	at, err := url.Parse(address)
	return err == nil && (at.Hostname() == "localhost" || net.ParseIP(at.Hostname()).IsLoopback())
}

// unregister removes the APIServices of an operator that was stopped: while nothing answers for them, no namespace of the cluster can be deleted,
// and no garbage is collected. It also removes the webhook configurations that lead to this machine, which an operator leaves behind if it was
// killed: API servers may refuse all requests for its objects until they are gone. The operator registers both again when it starts.
func (s *session) unregister(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timing.unregister)
	defer cancel()
	client, who := s.installer.Client, identityOf(s.project)
	services, err := Registrations(ctx, client, who.name, who.namespace, true, apiServices)
	webhooks, failed := Registrations(ctx, client, who.name, "", true, CallingKinds[1:]...) // none that a Service answers for
	if err = errors.Join(err, failed); err == nil {
		err = (&removal.Remover{Client: client, Gone: func(*unstructured.Unstructured) {}}).Remove(ctx, append(services, webhooks...))
	}
	if err != nil {
		return fmt.Errorf("remove the APIServices and webhooks of the operator: %w", err)
	}
	return nil
}
