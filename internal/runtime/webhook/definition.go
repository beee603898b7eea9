package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/runtime/migrate"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// ConvertPath is the path of the conversion webhook.
const ConvertPath = "/convert"

var (
	definitionKind = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	serviceKind    = corev1.SchemeGroupVersion.WithKind("Service")
)

// definition is a CustomResourceDefinition whose versions the operator converts into each other.
// It belongs to another manager: only the conversion is the operator's.
type definition struct {
	name  string
	reads string // the version in which the operator reads objects
	place place
	// unconverted means that this process saw the definition without a conversion.
	unconverted bool
	// seen is when this process first saw it with a conversion.
	seen time.Time
	// yielded is the Service of the instance that converts its objects instead of this one.
	yielded types.NamespacedName
	// answered is when that Service last accepted a connection, or when this instance first gave way to it.
	answered time.Time
}

func (d *definition) id() ident { return ident{kind: definitionKind, name: d.name, foreign: true} }

// conversionOf returns the conversion of a definition.
func conversionOf(live *unstructured.Unstructured) (*apiextensionsv1.CustomResourceConversion, error) {
	var found apiextensionsv1.CustomResourceConversion
	content, ok, err := unstructured.NestedMap(live.Object, "spec", "conversion")
	if err != nil || !ok {
		return &found, err
	}
	return &found, runtime.DefaultUnstructuredConverter.FromUnstructured(content, &found)
}

// settled returns when every API server knows that a definition has a conversion. The definition has it since its
// last change, at the latest. Until then an API server may return objects that are stored in another version
// without the fields that have other names in the operator's version.
func (d *definition) settled(live *unstructured.Unstructured, now time.Time) time.Time {
	if d.seen.IsZero() {
		d.seen = now
	}
	stored, _, err := unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
	if err == nil && !slices.ContainsFunc(stored, func(version string) bool { return version != d.reads }) {
		return now // no conversion is needed
	}
	if d.unconverted {
		return d.seen.Add(migrate.Settle)
	}
	if d.place.address != "" {
		return now // no other process of this operator enabled the conversion just now
	}
	return migrate.Settled(migrate.Changed(live), d.seen)
}

// asked implements registration.
func (d *definition) asked(live *unstructured.Unstructured) []asked {
	found, err := conversionOf(live)
	if err != nil || found.Webhook == nil || found.Webhook.ClientConfig == nil {
		return nil
	}
	c := found.Webhook.ClientConfig
	return []asked{askedBy(admissionv1.WebhookClientConfig{URL: c.URL, Service: (*admissionv1.ServiceReference)(c.Service), CABundle: c.CABundle})}
}

// yields reports whether another instance of the operator converts the objects of a definition: one in another namespace, whose
// Service exists and accepts connections, unless that is only interrupted. Each instance converts all objects, and API servers end all watches of a kind when its conversion changes, so
// that instances must not take turns.
func (k *keeper) yields(ctx context.Context, d *definition, live *unstructured.Unstructured) (bool, error) {
	who := d.asked(live)
	if len(who) == 0 || who[0].service.Name == "" || who[0].service.Namespace == k.Service.Namespace || !k.registry.manages(live) {
		return false, nil
	}
	exists, err := k.exists(ctx, who[0])
	if err != nil || !exists {
		return false, err
	}
	now := time.Now()
	if d.yielded != who[0].service {
		d.yielded, d.answered = who[0].service, now
		k.Log.Info("another instance of the operator converts the objects of a kind", "CustomResourceDefinition", d.name, "Service", d.yielded.String())
	}
	if answers(ctx, fmt.Sprintf("%s:%d", serviceHost(who[0].service), who[0].port)) {
		d.answered = now
	}
	return now.Sub(d.answered) < timing.silence, nil
}

// exists reports whether a Service exists. One that the operator may not read counts as existing.
func (k *keeper) exists(ctx context.Context, to asked) (bool, error) {
	endpoint, err := k.Wire.Endpoint(serviceKind, resourceclient.Metadata)
	if err != nil {
		return false, err
	}
	_, err = endpoint.Get(ctx, to.service.Namespace, to.service.Name)
	if apierrors.IsForbidden(err) {
		return true, nil
	}
	return err == nil, client.IgnoreNotFound(err)
}

// wanted implements registration. Every replica writes it, leader or not: caches fill only when
// objects can be converted, and a replica that cannot fill them cannot lead.
func (d *definition) wanted(live *unstructured.Unstructured, bundle bundler, _ bool) (*unstructured.Unstructured, error) {
	if live == nil {
		return nil, fmt.Errorf("there is no CustomResourceDefinition %s: install it, its versions are converted by this operator", d.name)
	}
	found, err := conversionOf(live)
	if err != nil {
		return nil, err
	}
	var before []byte
	if found.Webhook != nil && found.Webhook.ClientConfig != nil {
		before = found.Webhook.ClientConfig.CABundle
	}
	want := &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig:             d.place.converter(ConvertPath, bundle(before)),
			ConversionReviewVersions: []string{"v1"},
		},
	}
	if equality.Semantic.DeepEqual(found, want) {
		return nil, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"conversion": content}}}
	object.SetGroupVersionKind(definitionKind)
	object.SetName(d.name)
	return object, nil
}
