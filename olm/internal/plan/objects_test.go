package plan_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/project"

	"github.com/operon-framework/operon/olm/internal/plan"
)

const (
	converter = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v1.0.0}
spec: {webhookdefinitions: [{type: ConversionWebhook, generateName: c, conversionCRDs: [shops.example.com]}]}
`
	converted = `
metadata: {name: shops.example.com}
spec: {group: example.com, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://198.18.0.1/convert"}}}}
`
)

// A plan does not write the conversion that a bundle contains: the version describes it. Without that, the bundle is refused.
func TestConversionOfBundles(t *testing.T) {
	t.Parallel()
	of := func(csv string) (*plan.Objects, error) {
		object, crd := unstructured.Unstructured{}, &apiextensionsv1.CustomResourceDefinition{}
		for text, into := range map[string]any{csv: &object.Object, converted: crd} {
			if err := yaml.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		return plan.Of(&bundle.Bundle{Object: &project.Object{Unstructured: &object}, CRDs: []*bundle.CRD{{Typed: crd}}}, "shops", "", "")
	}
	made, err := of(converter)
	if err != nil {
		t.Fatal(err)
	}
	if spec := made.CRDs[0].Object["spec"].(map[string]any); spec["group"] != "example.com" || spec["conversion"] != nil {
		t.Errorf("the definition is %v", spec)
	}
	_, err = of(strings.Replace(converter, "[shops.example.com]", "[]", 1))
	if err == nil || !strings.Contains(err.Error(), "the CustomResourceDefinition shops.example.com has a conversion webhook, and no ConversionWebhook") {
		t.Errorf("the error is %v", err)
	}
}
