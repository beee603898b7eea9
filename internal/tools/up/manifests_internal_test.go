package up

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// An operator is expected to write a status if the schema has room for one.
func TestHasStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"{}":                                   false,
		"properties: {status: {type: object}}": false,
		"properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}}":  true,
		"properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: false}}": false,
		"properties: {status: {type: object, properties: {phase: {type: string}}}}":         true,
	} {
		schema := &apiextensionsv1.JSONSchemaProps{}
		if err := yaml.UnmarshalStrict([]byte(text), schema); err != nil {
			t.Fatal(err)
		}
		if got := hasStatus(schema); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
	}
	if hasStatus(nil) {
		t.Error("a kind without a schema counts as one with a status")
	}
}
