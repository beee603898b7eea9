package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/names"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Labels of webhook configurations.
const (
	LabelWebhookName = "olm.webhook-description-generate-name"
	LabelWebhookHash = "olm.webhook-description-hash"
)

// checkWebhooks returns the first mistake in the descriptions of webhooks.
func checkWebhooks(csv *v1alpha1.ClusterServiceVersion) error {
	names := map[string]bool{}
	for i, one := range csv.Spec.WebhookDefinitions {
		at := fmt.Sprintf("spec.webhookdefinitions[%d] (%s)", i, one.GenerateName)
		if err := checkWebhook(csv, one); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		name := configurationName(csv, one)
		if names[name] && one.Type != v1alpha1.ConversionWebhook {
			return fmt.Errorf("%s: another webhook has the same type, generateName and webhookPath", at)
		}
		names[name] = true
	}
	return nil
}

func checkWebhook(csv *v1alpha1.ClusterServiceVersion, one v1alpha1.WebhookDescription) error {
	if !slices.ContainsFunc(csv.Spec.Install.Spec.Deployments, func(d v1alpha1.DeploymentSpec) bool { return d.Name == one.DeploymentName }) {
		return fmt.Errorf("deploymentName: no deployment %q in spec.install: correct the name", one.DeploymentName)
	}
	switch one.Type {
	case v1alpha1.ValidatingWebhook, v1alpha1.MutatingWebhook:
		return checkRules(one.Rules)
	case v1alpha1.ConversionWebhook:
		return checkConversion(csv, one)
	}
	return fmt.Errorf("type: %q is not a type of webhooks: use ValidatingAdmissionWebhook, MutatingAdmissionWebhook or ConversionWebhook", one.Type)
}

// checkRules refuses rules with which a webhook could keep the manager from working, or itself from being removed.
func checkRules(rules []admissionv1.RuleWithOperations) error {
	for i, rule := range rules {
		for _, group := range rule.APIGroups {
			switch {
			case group == "*":
				return fmt.Errorf("rules[%d]: webhook rules cannot include all groups: list those that the operator provides", i)
			case managed(group):
				return fmt.Errorf("rules[%d]: webhook rules cannot include the group %s of the lifecycle manager: remove it", i, group)
			case group == admissionv1.GroupName && slices.ContainsFunc(rule.Resources, configuresWebhooks):
				return fmt.Errorf("rules[%d]: webhook rules cannot include webhook configurations: remove them", i)
			}
		}
	}
	return nil
}

func configuresWebhooks(resource string) bool {
	parent, _, _ := strings.Cut(resource, "/")
	return parent == "*" || parent == "mutatingwebhookconfigurations" || parent == "validatingwebhookconfigurations"
}

// checkConversion refuses conversions of kinds that the operator does not own, and of operators that work in some namespaces: a kind has one
// conversion in all of them.
func checkConversion(csv *v1alpha1.ClusterServiceVersion, one v1alpha1.WebhookDescription) error {
	if len(one.ConversionCRDs) == 0 {
		return errors.New("conversionCRDs: a conversion webhook needs the name of a CRD")
	}
	for _, name := range one.ConversionCRDs {
		if !slices.ContainsFunc(csv.Spec.CustomResourceDefinitions.Owned, func(d v1alpha1.CRDDescription) bool { return d.Name == name }) {
			return fmt.Errorf("conversionCRDs: %s is not in spec.customresourcedefinitions.owned", name)
		}
		if _, group, _ := strings.Cut(name, "."); Reserved(group) {
			return fmt.Errorf("conversionCRDs: the API group %s belongs to Kubernetes or to the manager", group)
		}
	}
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported != (mode.Type == v1alpha1.AllNamespaces) {
			return errors.New("conversion webhooks need the install mode AllNamespaces and no other: a kind has one conversion in all namespaces")
		}
	}
	return nil
}

// configurationName returns the name of a webhook configuration. It is the same for all versions of an operator, so that the next one takes
// the configuration over.
func configurationName(csv *v1alpha1.ClusterServiceVersion, one v1alpha1.WebhookDescription) string {
	return unique(one.GenerateName, csv.Namespace, string(one.Type), one.GenerateName, ptr.Deref(one.WebhookPath, ""))
}

// configurations returns the configurations of the admission webhooks of a Server.
func (s *Server) configurations(group Group, with Certificate) []client.Object {
	var all []client.Object
	for _, one := range s.webhooks {
		meta := metav1.ObjectMeta{Name: configurationName(s.csv, one), Labels: Labels(s.csv)}
		meta.Labels[LabelWebhookName], meta.Labels[LabelWebhookHash] = names.Join(maxLabel, one.GenerateName), hashOf(one)
		to := admissionv1.WebhookClientConfig{CABundle: with.Bundle, Service: &admissionv1.ServiceReference{
			Namespace: s.csv.Namespace, Name: s.Service, Path: one.WebhookPath, Port: new(portOf(one.ContainerPort)),
		}}
		switch one.Type {
		case v1alpha1.ValidatingWebhook:
			all = append(all, &admissionv1.ValidatingWebhookConfiguration{
				TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
				ObjectMeta: meta, Webhooks: []admissionv1.ValidatingWebhook{{
					Name: one.GenerateName, ClientConfig: to, Rules: one.Rules, FailurePolicy: one.FailurePolicy, MatchPolicy: one.MatchPolicy,
					NamespaceSelector: group.selector(), ObjectSelector: one.ObjectSelector, SideEffects: one.SideEffects,
					TimeoutSeconds: one.TimeoutSeconds, AdmissionReviewVersions: one.AdmissionReviewVersions,
				}},
			})
		case v1alpha1.MutatingWebhook:
			all = append(all, &admissionv1.MutatingWebhookConfiguration{
				TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
				ObjectMeta: meta, Webhooks: []admissionv1.MutatingWebhook{{
					Name: one.GenerateName, ClientConfig: to, Rules: one.Rules, FailurePolicy: one.FailurePolicy, MatchPolicy: one.MatchPolicy,
					NamespaceSelector: group.selector(), ObjectSelector: one.ObjectSelector, SideEffects: one.SideEffects,
					TimeoutSeconds: one.TimeoutSeconds, AdmissionReviewVersions: one.AdmissionReviewVersions, ReinvocationPolicy: one.ReinvocationPolicy,
				}},
			})
		}
	}
	return all
}

// selector selects the namespaces of a group. Nil selects all.
func (g Group) selector() *metav1.LabelSelector {
	switch {
	case g.All():
		return nil
	case g.Selector != nil:
		return g.Selector
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: g.Targets,
	}}}
}

func hashOf(one v1alpha1.WebhookDescription) string {
	content, err := json.Marshal(one)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// Conversion is the conversion of the versions of a kind.
type Conversion struct {
	// CRD and Deployment are the names of the kind and of the Deployment that converts.
	CRD, Deployment string
	Conversion      *apiextensionsv1.CustomResourceConversion
}

// Conversions returns the conversions of the kinds of an operator. Requests go to the Services of the operator and nowhere else.
func Conversions(servers []*Server, certificates map[string]Certificate) []Conversion {
	var all []Conversion
	for _, s := range servers {
		for _, one := range s.webhooks {
			if one.Type != v1alpha1.ConversionWebhook {
				continue
			}
			for _, name := range one.ConversionCRDs {
				all = append(all, Conversion{name, s.Deployment, &apiextensionsv1.CustomResourceConversion{
					Strategy: apiextensionsv1.WebhookConverter,
					Webhook: &apiextensionsv1.WebhookConversion{
						ConversionReviewVersions: one.AdmissionReviewVersions,
						ClientConfig: &apiextensionsv1.WebhookClientConfig{
							CABundle: certificates[s.Deployment].Bundle,
							Service: &apiextensionsv1.ServiceReference{
								Namespace: s.csv.Namespace, Name: s.Service, Path: new(ptr.Deref(one.WebhookPath, "/")), Port: new(portOf(one.ContainerPort)),
							},
						},
					},
				}})
			}
		}
	}
	return all
}

// WebhookNames returns the names of the webhook configurations of a version.
func WebhookNames(csv *v1alpha1.ClusterServiceVersion) []string {
	var all []string
	for _, one := range csv.Spec.WebhookDefinitions {
		all = append(all, configurationName(csv, one))
	}
	return all
}
