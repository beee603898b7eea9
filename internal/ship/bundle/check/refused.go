package check

import (
	"errors"
	"slices"

	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
	"github.com/operon-framework/operon/internal/olm/contents"
	"github.com/operon-framework/operon/internal/olm/render"
	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// checkPlan adds what an InstallPlan would refuse. csv is the decoded CSV.
func checkPlan(b *bundle.Bundle, csv *v1alpha1.ClusterServiceVersion, all *findings) {
	_, err := b.Objects(home, "", "")
	for _, crd := range b.CRDs {
		if crd.Typed == nil {
			continue // the lint has a finding
		}
		if err := contents.ReservedGroup(crd.GetName(), crd.Typed.Spec.Group); err != nil {
			all.add(refused, rule.At(crd.Object, "spec.group"), "%v", err)
		}
		if err := contents.ForeignConversion(crd.Typed, csv); err != nil {
			all.add(refused, rule.At(crd.Object, "spec.conversion"), "%v", err)
		}
	}
	if err != nil && !all.has("bundle-format", "bundle-objects", csvFields.Name, refused.Name) {
		all.add(refused, rule.At(*b.Object, ""), "%v", err)
	}
}

// addRefusal adds why no Deployment of the operator would run, unless the lint has a finding about it.
func (f *findings) addRefusal(b *bundle.Bundle, err error) {
	var webhook *render.WebhookError
	field := apisField
	if errors.As(err, &webhook) {
		field = webhooksField
	}
	if !f.has("csv-webhooks", "csv-api-services", "csv-install-modes", "csv-deployments", "generated-names") {
		f.add(refused, rule.At(*b.Object, field), "%v", err)
	}
}

// isRefusal reports whether the description of a webhook or of an API service is wrong.
func isRefusal(err error) bool {
	var webhook *render.WebhookError
	var api *render.APIServiceError
	return errors.As(err, &webhook) || errors.As(err, &api)
}

// has reports whether there is an error of one of some rules.
func (f *findings) has(rules ...string) bool {
	return slices.ContainsFunc(*f, func(one rule.Finding) bool { return one.Severity == rule.Error && slices.Contains(rules, one.Rule) })
}
