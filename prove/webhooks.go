package prove

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
)

// isWebhook tells whether an object tells the API server to call a webhook. Nobody answers there: the
// operator runs on this machine, and has no certificates. The API server would refuse what the
// webhook is asked for.
func isWebhook(object *unstructured.Unstructured) bool {
	group := schema.FromAPIVersionAndKind(object.GetAPIVersion(), object.GetKind()).GroupKind()
	return group.Group == "admissionregistration.k8s.io" && strings.HasSuffix(group.Kind, "WebhookConfiguration")
}

// converted are definitions whose versions are converted into each other by a webhook, be it by one that
// the operator registers.
func converted(definition *unstructured.Unstructured) bool {
	strategy, _, _ := unstructured.NestedString(definition.Object, "spec", "conversion", "strategy")
	return strategy == "Webhook" || definition.GetAnnotations()[crdcompat.ConversionAnnotation] == "operator"
}

// storedIn is the version in which objects of a definition are stored, and of what group and kind
// they are.
func storedIn(definition *unstructured.Unstructured) schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, one := range versions {
		if version, _ := one.(map[string]any); version["storage"] == true {
			name, _ := version["name"].(string)
			return schema.GroupVersionKind{Group: group, Version: name, Kind: kind}
		}
	}
	return schema.GroupVersionKind{}
}

// inOtherVersions takes out of some objects those of a kind in another version than the stored one, and
// returns their names.
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

// withoutWebhooks leaves out what would make the API server call the operator, and returns notes
// that say so.
func (o Options) withoutWebhooks() (Options, []string) {
	var notes []string
	all := slices.Clone(o.Webhooks)
	o.Setup = slices.DeleteFunc(slices.Clone(o.Setup), func(object *unstructured.Unstructured) bool {
		if isWebhook(object) {
			all = append(all, object.GetName())
		}
		return isWebhook(object)
	})
	if len(all) > 0 {
		notes = append(notes, fmt.Sprintf("webhooks are not called, so that what they default and refuse is not seen: %s", strings.Join(all, ", ")))
	}
	for _, definition := range o.CRDs {
		if !converted(definition) {
			continue
		}
		stored := storedIn(definition)
		note := fmt.Sprintf("the webhook that converts %s is not called: of its versions only the stored one, %s, can be used", definition.GetName(), stored.Version)
		var samples, setup []string
		o.Samples, samples = inOtherVersions(o.Samples, stored)
		o.Setup, setup = inOtherVersions(o.Setup, stored)
		if out := slices.Concat(samples, setup); len(out) > 0 {
			note += "; left out: " + strings.Join(out, ", ")
		}
		notes = append(notes, note)
	}
	return o, notes
}
