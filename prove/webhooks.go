package prove

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// isWebhook tells whether an object tells the API server to call a webhook. Nobody answers there: the
// operator runs on this machine, and has no certificates. The API server would refuse what the
// webhook is asked for.
func isWebhook(object *unstructured.Unstructured) bool {
	group := schema.FromAPIVersionAndKind(object.GetAPIVersion(), object.GetKind()).GroupKind()
	return group.Group == "admissionregistration.k8s.io" && strings.HasSuffix(group.Kind, "WebhookConfiguration")
}

// converted are definitions whose versions are converted into each other by a webhook.
func converted(definition *unstructured.Unstructured) bool {
	strategy, _, _ := unstructured.NestedString(definition.Object, "spec", "conversion", "strategy")
	return strategy == "Webhook"
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
		if converted(definition) {
			notes = append(notes, fmt.Sprintf("the webhook that converts %s is not called: of its versions only the stored one can be used", definition.GetName()))
		}
	}
	return o, notes
}
