package prove

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/kube"
)

// isWebhook reports whether an object makes the API server call a webhook. The operator runs on this machine without
// certificates, so that no webhook could be reached, and the API server would reject the requests.
func isWebhook(object *unstructured.Unstructured) bool {
	group := schema.FromAPIVersionAndKind(object.GetAPIVersion(), object.GetKind()).GroupKind()
	return group.Group == "admissionregistration.k8s.io" && strings.HasSuffix(group.Kind, "WebhookConfiguration")
}

// converted reports whether a webhook converts between the versions of a definition, even if the operator
// registers it later.
func converted(crd *kube.CRD) bool {
	registered := crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
	return registered || crd.Annotations[crdcompat.ConversionAnnotation] == "operator"
}

// inOtherVersions removes the objects of a kind in another version than the stored one, and returns their names.
func inOtherVersions(objects []*unstructured.Unstructured, stored schema.GroupVersionKind) (left []*unstructured.Unstructured, names []string) {
	for _, object := range objects {
		kind := object.GroupVersionKind()
		if kind.GroupKind() == stored.GroupKind() && kind.Version != stored.Version {
			names = append(names, fmt.Sprintf("%s %s of %s", kind.Kind, object.GetName(), kind.Version))
			continue
		}
		left = append(left, object)
	}
	return left, names
}

// withoutWebhooks removes everything that would make the API server call the operator, and returns notes about that.
func (o Options) withoutWebhooks() (Options, []string, error) {
	var notes []string
	all := slices.Clone(o.Webhooks)
	o.Setup = slices.DeleteFunc(slices.Clone(o.Setup), func(object *unstructured.Unstructured) bool {
		if isWebhook(object) {
			all = append(all, object.GetName())
		}
		return isWebhook(object)
	})
	if len(all) > 0 {
		notes = append(notes, fmt.Sprintf("webhooks are not called, so their defaulting and validation are not tested: %s", strings.Join(all, ", ")))
	}
	for _, definition := range o.CRDs {
		crd, err := kube.ReadCRD(definition)
		if err != nil {
			return o, nil, err
		}
		if !converted(crd) {
			continue
		}
		stored := crd.Defines().WithVersion(crd.Storage())
		note := fmt.Sprintf("the webhook that converts %s is not called: only its stored version, %s, can be used", crd.Name, stored.Version)
		var samples, setup []string
		o.Samples, samples = inOtherVersions(o.Samples, stored)
		o.Setup, setup = inOtherVersions(o.Setup, stored)
		if out := slices.Concat(samples, setup); len(out) > 0 {
			note += "; left out: " + strings.Join(out, ", ")
		}
		notes = append(notes, note)
	}
	return o, notes, nil
}
