package bundle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/operon-framework/operon/internal/tools/crdcompat"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

var ownedRule = &check{rule.Rule{
	Name: "csv-owned", Severity: rule.Error,
	About:  "A difference between the APIs that the CSV lists as owned and the CRDs in the bundle.",
	Reason: "The CSV waits forever for an API that nobody provides, or users never see one that it has.",
	Fix:    "list each CRD of the bundle, in each served version, once in spec.customresourcedefinitions.owned",
}, func(b *Bundle, found *rule.Findings) {
	seen, listed := map[API]bool{}, map[string]bool{}
	for i, api := range b.CSV.Spec.CRDs.Owned {
		path := fmt.Sprintf("spec.customresourcedefinitions.owned[%d]", i)
		key := API{Name: api.Name, Version: api.Version}
		if seen[key] {
			found.Add(b.at(path), "%s: %s in version %s is listed twice", path, api.Name, api.Version)
		}
		seen[key], listed[api.Name] = true, true
		if problem := b.lacks(api); problem != "" {
			found.Add(b.at(path), "%s: %s", path, problem)
		}
		if api.Description == "" {
			found.Add(b.at(path), "%s: %s has no description", path, api.Name).Severity = rule.Advice
		}
	}
	for _, crd := range b.CRDs {
		if !listed[crd.GetName()] {
			found.Add(rule.At(crd.Object, "metadata.name"), "CustomResourceDefinition %s is not listed as owned by the CSV", crd.GetName())
		}
	}
	for i, api := range b.CSV.Spec.CRDs.Required {
		if listed[api.Name] {
			path := fmt.Sprintf("spec.customresourcedefinitions.required[%d]", i)
			found.Add(b.at(path), "%s: %s is also listed as owned", path, api.Name)
		}
	}
}}

// lacks describes the difference between an owned API and the definition in the bundle, or returns "".
func (b *Bundle) lacks(api API) string {
	crd := b.definition(api.Name)
	if crd == nil {
		return fmt.Sprintf("there is no CustomResourceDefinition %s in the bundle", api.Name)
	}
	if crd.Typed == nil {
		return "" // reported as unreadable by another rule
	}
	for _, version := range crd.Typed.Spec.Versions {
		if version.Name != api.Version {
			continue
		}
		if !version.Served {
			return fmt.Sprintf("version %s of %s is not served", api.Version, api.Name)
		}
		if kind := crd.Typed.Spec.Names.Kind; kind != api.Kind {
			return fmt.Sprintf("kind: %s defines %s, the CSV says %q", api.Name, kind, api.Kind)
		}
		return ""
	}
	return fmt.Sprintf("%s has no version %q", api.Name, api.Version)
}

var crdRule = &check{rule.Rule{
	Name: "crd-invalid", Severity: rule.Error,
	About:  "A CRD that API servers reject.",
	Reason: "The operator cannot be installed.",
	Fix:    "fix what the message names",
}, func(b *Bundle, found *rule.Findings) {
	for _, crd := range b.CRDs {
		if crd.Typed == nil || crd.GetAPIVersion() == crdV1Beta1 {
			continue // reported as unreadable, or as old
		}
		for _, problem := range validate(crd.Typed) {
			// API servers store a schema that all versions share in one place.
			field := strings.Replace(problem.Field, "spec.validation.", "spec.versions[0].schema.", 1)
			found.Add(rule.At(crd.Object, field), "%s: %s: %s", crd.GetName(), field, problem.ErrorBody())
		}
	}
}}

var crdVersionRule = &check{rule.Rule{
	Name: "crd-v1beta1", Severity: rule.Error,
	About:  "A CRD in apiextensions.k8s.io/v1beta1.",
	Reason: "API servers since Kubernetes 1.22 do not know this version, so the bundle cannot be installed on them.",
	Fix:    "`operon bundle convert` writes a bundle with CRDs in apiextensions.k8s.io/v1",
}, func(b *Bundle, found *rule.Findings) {
	for _, crd := range b.CRDs {
		if crd.GetAPIVersion() == crdV1Beta1 {
			found.Add(rule.At(crd.Object, "apiVersion"), "%s is in %s%s", crd.GetName(), crdV1Beta1, crd.converted())
		}
	}
}}

var samplesRule = &check{rule.Rule{
	Name: "csv-samples", Severity: rule.Error,
	About:  "A sample in the annotation alm-examples that is not an object, that the CRD rejects, or of a kind that the CSV does not own.",
	Reason: "Consoles offer samples as the first object that users create.",
	Fix:    "correct the sample; have one for each owned kind",
}, func(b *Bundle, found *rule.Findings) {
	at := b.at("metadata.annotations." + samplesAnnotation)
	var samples []map[string]any
	if text := b.CSV.Annotations[samplesAnnotation]; text != "" {
		if err := utiljson.Unmarshal([]byte(text), &samples); err != nil { // whole numbers stay whole
			found.Add(at, "%s: want a list of objects in JSON: %v", samplesAnnotation, err)
			return
		}
	}
	shown := map[schema.GroupKind]bool{}
	for i, fields := range samples {
		sample := &unstructured.Unstructured{Object: fields}
		shown[sample.GroupVersionKind().GroupKind()] = true
		wrong, dropped := b.judge(sample)
		for _, problem := range wrong {
			found.Add(at, "%s[%d], %s %s: %s", samplesAnnotation, i, sample.GetKind(), sample.GetName(), problem)
		}
		for _, field := range dropped { // API servers accept the sample
			found.Add(at, "%s[%d], %s %s: the field %s is unknown, and dropped", samplesAnnotation, i, sample.GetKind(), sample.GetName(), field).Severity = rule.Warning
		}
	}
	for i, api := range b.CSV.Spec.CRDs.Owned {
		if crd := b.definition(api.Name); crd != nil && crd.Typed != nil && !shown[schema.GroupKind{Group: crd.Typed.Spec.Group, Kind: api.Kind}] {
			found.Add(b.at(fmt.Sprintf("spec.customresourcedefinitions.owned[%d]", i)), "%s has no sample of %s", samplesAnnotation, api.Kind).Severity = rule.Warning
		}
	}
}}

// judge returns the reasons why a sample cannot be created, and the fields that API servers would drop.
func (b *Bundle) judge(sample *unstructured.Unstructured) (wrong, dropped []string) {
	kind := sample.GroupVersionKind()
	for _, crd := range b.CRDs {
		if crd.Typed == nil || crd.Typed.Spec.Group != kind.Group || crd.Typed.Spec.Names.Kind != kind.Kind {
			continue
		}
		if sample.GetName() == "" {
			return []string{"metadata.name is missing"}, nil
		}
		verdict, err := crdcompat.Judge(context.Background(), crd.Typed, sample)
		if err != nil {
			return []string{err.Error()}, nil
		}
		for _, problem := range verdict.Wrong {
			wrong = append(wrong, problem.Error())
		}
		return wrong, verdict.Unknown
	}
	return b.unowned(kind), nil
}

// unowned returns why a kind without a definition in the bundle cannot have a sample, or nothing.
func (b *Bundle) unowned(kind schema.GroupVersionKind) []string {
	for _, api := range slices.Concat(b.CSV.Spec.APIServices.Owned, b.CSV.Spec.APIServices.Required) {
		if api.Group == kind.Group && api.Kind == kind.Kind {
			return nil
		}
	}
	for _, api := range b.CSV.Spec.CRDs.Owned {
		if strings.HasSuffix(api.Name, "."+kind.Group) && api.Kind == kind.Kind {
			return nil // its definition is missing or cannot be read, which is reported
		}
	}
	return []string{fmt.Sprintf("the CSV does not own %s in %s", kind.Kind, kind.GroupVersion())}
}

// guarded are API groups that webhooks of operators must not intercept, because a failing webhook could not be removed.
var guarded = []string{"*", "admissionregistration.k8s.io", "operators.coreos.com", "olm.operatorframework.io"}

var webhooksRule = &check{rule.Rule{
	Name: "csv-webhooks", Severity: rule.Error,
	About:  "A webhook definition that the Operator Lifecycle Manager or an API server rejects.",
	Reason: "The installation fails with InvalidWebhookDescription, or requests of users do.",
	Fix:    "fix what the message names",
}, func(b *Bundle, found *rule.Findings) {
	seen := map[string]bool{}
	for i, webhook := range b.CSV.Spec.Webhooks {
		path := fmt.Sprintf("spec.webhookdefinitions[%d]", i)
		for _, problem := range b.checkWebhook(webhook) {
			found.Add(b.at(path), "%s: %s", path, problem)
		}
		if seen[webhook.GenerateName] {
			found.Add(b.at(path), "%s: generateName %s is used twice", path, webhook.GenerateName)
		}
		seen[webhook.GenerateName] = true
	}
}}

func (b *Bundle) checkWebhook(w Webhook) []string {
	var problems []string
	add := func(format string, values ...any) { problems = append(problems, fmt.Sprintf(format, values...)) }
	if !slices.Contains([]WebhookType{Validating, Mutating, Converting}, w.Type) {
		add("unknown type %q; want %s, %s or %s", w.Type, Validating, Mutating, Converting)
	}
	if w.GenerateName == "" {
		add("generateName is missing")
	}
	if !slices.ContainsFunc(b.CSV.Spec.Install.Spec.Deployments, func(d Deployment) bool { return d.Name == w.DeploymentName }) {
		add("deploymentName: the CSV has no Deployment %q", w.DeploymentName)
	}
	if len(w.AdmissionReviewVersions) == 0 {
		add("admissionReviewVersions is missing")
	}
	if w.Type == Converting {
		return append(problems, b.checkConversion(w)...)
	}
	if w.SideEffects == nil || *w.SideEffects != "None" && *w.SideEffects != "NoneOnDryRun" {
		add("sideEffects: want None or NoneOnDryRun")
	}
	if len(w.Rules) == 0 {
		add("rules is empty")
	}
	for _, one := range w.Rules {
		for _, group := range one.APIGroups {
			if slices.Contains(guarded, group) {
				add("rules: webhooks of operators may not be called for the group %q", group)
			}
		}
	}
	return problems
}

func (b *Bundle) checkConversion(w Webhook) []string {
	if len(w.ConversionCRDs) == 0 {
		return []string{"conversionCRDs is empty"}
	}
	var problems []string
	for _, name := range w.ConversionCRDs {
		if !slices.ContainsFunc(b.CSV.Spec.CRDs.Owned, func(api API) bool { return api.Name == name }) {
			problems = append(problems, fmt.Sprintf("conversionCRDs: the CSV does not own %s", name))
		}
	}
	return problems
}
