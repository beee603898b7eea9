package prove

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/workload"
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

// uncalled returns a note about the webhooks that are not called.
func (o Options) uncalled() string {
	var names, kinds []string
	for _, hook := range o.Webhooks {
		names = append(names, hook.GetName())
	}
	for _, definition := range o.CRDs {
		if kind := kindOf(definition); o.admitted(kind) {
			kinds = append(kinds, kind.Kind)
		}
	}
	note := "webhooks are not called, so their defaulting and validation are not tested: " + strings.Join(names, ", ")
	if len(kinds) > 0 {
		note += fmt.Sprintf("; what fails after other values in fields of %s is a note, because a webhook might have changed or rejected them", strings.Join(kinds, ", "))
	}
	return note
}

// admitted reports whether a webhook that is not called has a rule for a kind of the operator.
func (o Options) admitted(kind schema.GroupKind) bool {
	at := slices.IndexFunc(o.CRDs, func(definition *unstructured.Unstructured) bool { return kindOf(definition) == kind })
	if at < 0 {
		return false
	}
	plural, _, _ := unstructured.NestedString(o.CRDs[at].Object, "spec", "names", "plural")
	return slices.ContainsFunc(o.Webhooks, func(hook *unstructured.Unstructured) bool { return rulesMatch(hook, kind.Group, plural) })
}

// rulesMatch reports whether a rule of a webhook configuration matches a resource.
func rulesMatch(configuration *unstructured.Unstructured, group, resource string) bool {
	hooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	for _, hook := range hooks {
		fields, _ := hook.(map[string]any)
		rules, _, _ := unstructured.NestedSlice(fields, "rules")
		for _, rule := range rules {
			fields, _ := rule.(map[string]any)
			groups, _, _ := unstructured.NestedStringSlice(fields, "apiGroups")
			resources, _, _ := unstructured.NestedStringSlice(fields, "resources")
			operations, _, _ := unstructured.NestedStringSlice(fields, "operations")
			writes := len(operations) == 0 || has(operations, "CREATE") || has(operations, "UPDATE")
			if writes && has(groups, group) && (has(resources, resource) || slices.Contains(resources, "*/*")) {
				return true
			}
		}
	}
	return false
}

// has reports whether a list of a rule contains a value, or the wildcard.
func has(list []string, value string) bool {
	return slices.Contains(list, value) || slices.Contains(list, "*")
}

// guessed reports whether a workload has applied a guess, in a step or earlier.
func guessed(w workload.Workload, step string, isGuess func(*unstructured.Unstructured) bool) bool {
	for _, one := range w.Steps {
		if slices.ContainsFunc(one.Apply, isGuess) {
			return true
		}
		if one.Name == step {
			return false
		}
	}
	return false
}

// isGuess returns a function that reports whether an object has content that a webhook might have changed or rejected: it has a kind with a
// webhook, and another spec than the objects that are known to work.
func (s *session) isGuess(known []*unstructured.Unstructured) func(*unstructured.Unstructured) bool {
	return func(object *unstructured.Unstructured) bool {
		kind := object.GroupVersionKind().GroupKind()
		return s.admitted(kind) && !slices.ContainsFunc(known, func(one *unstructured.Unstructured) bool {
			return one.GroupVersionKind().GroupKind() == kind && equality.Semantic.DeepEqual(one.Object["spec"], object.Object["spec"])
		})
	}
}

// worked returns the objects that the workload without faults and the workloads of the user apply. What a run with faults is compared with has the
// same values, or the user chose them.
func (s *session) worked() []*unstructured.Unstructured {
	all := slices.Clone(s.Samples)
	for _, w := range append([]workload.Workload{s.base}, s.Workloads...) {
		for _, step := range w.Steps {
			all = append(all, step.Apply...)
		}
	}
	return all
}

// withoutWebhooks removes everything that would make the API server call the operator, and returns notes about that.
func (o Options) withoutWebhooks() (Options, []string, error) {
	var notes []string
	o.Webhooks = slices.Clone(o.Webhooks)
	o.Setup = slices.DeleteFunc(slices.Clone(o.Setup), func(object *unstructured.Unstructured) bool {
		if isWebhook(object) {
			o.Webhooks = append(o.Webhooks, object)
		}
		return isWebhook(object)
	})
	if len(o.Webhooks) > 0 {
		notes = append(notes, o.uncalled())
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
