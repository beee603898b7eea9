package webhook

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
)

// place is how API servers reach the operator: by a Service, or at an address of their own machine.
type place struct {
	service types.NamespacedName
	port    int32  // of the Service
	address string // host:port, if there is no Service
}

// client returns the place in the form for admission webhooks.
func (p place) client(path string, bundle []byte) admissionv1.WebhookClientConfig {
	if p.address != "" {
		return admissionv1.WebhookClientConfig{URL: new(p.url(path)), CABundle: bundle}
	}
	return admissionv1.WebhookClientConfig{
		Service:  &admissionv1.ServiceReference{Namespace: p.service.Namespace, Name: p.service.Name, Port: new(p.port), Path: new(path)},
		CABundle: bundle,
	}
}

// converter returns the place in the form for conversion webhooks.
func (p place) converter(path string, bundle []byte) *apiextensionsv1.WebhookClientConfig {
	c := p.client(path, bundle)
	return &apiextensionsv1.WebhookClientConfig{URL: c.URL, Service: (*apiextensionsv1.ServiceReference)(c.Service), CABundle: c.CABundle}
}

func (p place) url(path string) string { return "https://" + p.address + path }

// name returns the name in certificates if API servers reach the operator by a Service.
func serviceHost(service types.NamespacedName) string {
	return fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)
}
