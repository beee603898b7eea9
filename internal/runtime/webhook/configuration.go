package webhook

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/operon-framework/operon/internal/core/operatorversion"
)

// entriesAnnotation lists the webhooks of a configuration that the operator registered last, so
// that it can distinguish its own from webhooks that another client added.
const entriesAnnotation = "operon.dev/webhooks"

// versionAnnotation is the version of the operator that registered these webhooks, if it has one.
const versionAnnotation = "operon.dev/webhooks-version"

// labelManagedBy names the operator that an object belongs to.
const labelManagedBy = "app.kubernetes.io/managed-by"

// configuration is the desired state of a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration.
// The entries of the former have the same form except for a field that they lack.
type configuration struct {
	kind    schema.GroupVersionKind
	name    string
	owner   string // the operator
	version string // of the operator
	hooks   []Hook
	scoped  []string // namespaces
	place   place
	mapper  meta.RESTMapper
}

var (
	mutatingKind   = admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration")
	validatingKind = admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration")
)

func (c *configuration) id() ident { return ident{kind: c.kind, name: c.name} }

// liveConfiguration holds the fields of either kind that are read.
type liveConfiguration struct {
	metav1.ObjectMeta `json:"metadata"`
	Webhooks          []admissionv1.MutatingWebhook `json:"webhooks"`
}

// ours returns the entries that the operator registered.
func (l liveConfiguration) ours() []admissionv1.MutatingWebhook {
	names := strings.Fields(l.Annotations[entriesAnnotation])
	return slices.DeleteFunc(slices.Clone(l.Webhooks), func(entry admissionv1.MutatingWebhook) bool {
		return !slices.Contains(names, entry.Name)
	})
}

// asked implements registration.
func (c *configuration) asked(live *unstructured.Unstructured) []asked {
	var typed liveConfiguration
	if typedFrom(live, &typed) != nil {
		return nil
	}
	var all []asked
	for _, entry := range typed.ours() {
		all = append(all, askedBy(entry.ClientConfig))
	}
	return all
}

// askedBy returns what API servers call.
func askedBy(c admissionv1.WebhookClientConfig) asked {
	to := asked{url: ptr.Deref(c.URL, ""), bundle: c.CABundle}
	if at, err := url.Parse(to.url); err == nil {
		to.path = at.Path
	}
	if s := c.Service; s != nil {
		to.service, to.port, to.path = types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, ptr.Deref(s.Port, defaultServicePort), ptr.Deref(s.Path, "/")
	}
	return to
}

// wanted implements registration. A process that is not the leader does not change the rules: during
// an upgrade, replicas want different ones.
func (c *configuration) wanted(live *unstructured.Unstructured, bundle bundler, leads bool) (*unstructured.Unstructured, error) {
	var typed liveConfiguration
	if live != nil {
		if err := typedFrom(live, &typed); err != nil {
			return nil, err
		}
	}
	entries, version := typed.ours(), typed.Annotations[versionAnnotation]
	if leads {
		var err error
		if entries, err = c.entries(); err != nil {
			return nil, err
		}
		version = c.version
	} else if live == nil {
		return nil, nil
	}
	for i := range entries {
		entries[i].ClientConfig.CABundle = bundle(typed.bundleOf(entries[i].Name))
	}
	if live != nil && c.same(typed, entries) && !operatorversion.Before(version, typed.Annotations[versionAnnotation]) {
		return nil, nil
	}
	return c.object(entries, version)
}

func (l liveConfiguration) bundleOf(entry string) []byte {
	for _, e := range l.Webhooks {
		if e.Name == entry {
			return e.ClientConfig.CABundle
		}
	}
	return nil
}

// same reports whether nothing has to be written. A version that registers the same as an earlier one writes nothing, but one after a
// rollback does.
func (c *configuration) same(live liveConfiguration, entries []admissionv1.MutatingWebhook) bool {
	return equality.Semantic.DeepEqual(live.ours(), entries) && live.Annotations[entriesAnnotation] == names(entries) &&
		live.Labels[labelManagedBy] == c.owner
}

func names(entries []admissionv1.MutatingWebhook) string {
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name)
	}
	return strings.Join(all, " ")
}

func (c *configuration) object(entries []admissionv1.MutatingWebhook, version string) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(map[string]any{"webhooks": entries})
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &object.Object); err != nil {
		return nil, err
	}
	object.SetGroupVersionKind(c.kind)
	object.SetName(c.name)
	object.SetLabels(map[string]string{labelManagedBy: c.owner})
	annotations := map[string]string{entriesAnnotation: names(entries)}
	if version != "" {
		annotations[versionAnnotation] = version
	}
	object.SetAnnotations(annotations)
	return object, nil
}

// entries returns the webhooks that should be registered, with every field that an API server would
// default, so that both can be compared.
func (c *configuration) entries() ([]admissionv1.MutatingWebhook, error) {
	var all []admissionv1.MutatingWebhook
	for _, hook := range c.hooks {
		entry, err := c.entry(hook)
		if err != nil {
			return nil, err
		}
		all = append(all, entry)
	}
	return all, nil
}

func (c *configuration) entry(hook Hook) (admissionv1.MutatingWebhook, error) {
	mapping, err := c.mapper.RESTMapping(hook.Kind.GroupKind(), hook.Kind.Version)
	if err != nil {
		return admissionv1.MutatingWebhook{}, err
	}
	entry := admissionv1.MutatingWebhook{
		Name:                    strings.Join([]string{string(hook.Role), mapping.Resource.Resource, groupOf(hook.Kind.Group)}, "."),
		ClientConfig:            c.place.client(hook.path(), nil),
		Rules:                   []admissionv1.RuleWithOperations{ruleOf(hook.Role, mapping)},
		FailurePolicy:           new(admissionv1.Fail),
		MatchPolicy:             new(admissionv1.Equivalent),
		NamespaceSelector:       c.selector(mapping),
		ObjectSelector:          &metav1.LabelSelector{},
		SideEffects:             new(admissionv1.SideEffectClassNone),
		TimeoutSeconds:          new(int32(max(hook.Timeout, 0).Seconds())),
		AdmissionReviewVersions: []string{"v1"},
		MatchConditions:         append(slices.Clone(always(hook.Role)), hook.Conditions...),
	}
	if hook.Timeout == 0 {
		*entry.TimeoutSeconds = int32(timing.defaultTimeout.Seconds())
	}
	if hook.FailOpen {
		*entry.FailurePolicy = admissionv1.Ignore
	}
	if hook.Role == Default {
		// Changes by webhooks that are called later may need defaults again.
		entry.ReinvocationPolicy = new(admissionv1.IfNeededReinvocationPolicy)
	}
	return entry, nil
}

// Expressions that exclude objects that are being deleted.
const (
	notDeleted    = "!has(object.metadata.deletionTimestamp)"
	oldNotDeleted = "!has(oldObject.metadata.deletionTimestamp)"
	// specChanged is only evaluated for updates: an object that is created is never being deleted.
	specChanged = "has(object.spec) != has(oldObject.spec) || has(object.spec) && object.spec != oldObject.spec"
)

// always returns the condition of all hooks of a role: finalizers of an object that is being deleted can be
// removed also while the operator does not answer. A spec that changes then is validated, because the
// code of finalizers reads it.
func always(role Role) []admissionv1.MatchCondition {
	expression := notDeleted
	switch role {
	case Validate:
		expression += " || " + specChanged
	case ValidateDeletion:
		expression = oldNotDeleted
	}
	return []admissionv1.MatchCondition{{Name: "not-deleted-yet", Expression: expression}}
}

func ruleOf(role Role, mapping *meta.RESTMapping) admissionv1.RuleWithOperations {
	operations := []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
	if role == ValidateDeletion {
		operations = []admissionv1.OperationType{admissionv1.Delete}
	}
	scope := admissionv1.ClusterScope
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		scope = admissionv1.NamespacedScope
	}
	return admissionv1.RuleWithOperations{Operations: operations, Rule: admissionv1.Rule{
		APIGroups:   []string{mapping.Resource.Group},
		APIVersions: []string{mapping.Resource.Version},
		Resources:   []string{mapping.Resource.Resource},
		Scope:       &scope,
	}}
}

// selector limits an entry to the operator's namespaces.
func (c *configuration) selector(mapping *meta.RESTMapping) *metav1.LabelSelector {
	return selectorOf(c.scoped, mapping)
}

func selectorOf(namespaces []string, mapping *meta.RESTMapping) *metav1.LabelSelector {
	if len(namespaces) == 0 || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return &metav1.LabelSelector{}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: namespaces,
	}}}
}
