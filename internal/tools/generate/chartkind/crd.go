package chartkind

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/gobuffalo/flect"

	"github.com/operon-framework/operon/engine/helm"
)

// Plural returns the name of a kind in URLs.
func Plural(kind string) string { return strings.ToLower(flect.Pluralize(kind)) }

// CRD returns the CustomResourceDefinition of a kind whose spec is the values of a chart, as YAML.
func CRD(chart *helm.Chart, kind schema.GroupVersionKind) ([]byte, error) {
	values, err := spec(chart)
	if err != nil {
		return nil, err
	}
	if values["description"] == nil {
		values["description"] = "The values of the chart " + chart.Name() + "."
	}
	status := open("object")
	status["properties"] = map[string]any{
		"observedGeneration": map[string]any{"type": "integer", "format": "int64"},
		"conditions": map[string]any{
			"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
			"items": map[string]any{
				"type": "object", "required": []any{"type", "status"}, "x-kubernetes-preserve-unknown-fields": true,
				"properties": map[string]any{"type": map[string]any{"type": "string"}, "status": map[string]any{"type": "string"}},
			},
		},
	}
	column := func(name, condition string) map[string]any {
		return map[string]any{"name": name, "type": "string", "jsonPath": `.status.conditions[?(@.type=="` + condition + `")].status`}
	}
	plural := Plural(kind.Kind)
	return yaml.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + kind.Group},
		"spec": map[string]any{
			"group": kind.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind.Kind, "listKind": kind.Kind + "List", "plural": plural, "singular": strings.ToLower(kind.Kind)},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"additionalPrinterColumns": []any{
					column("Ready", "Ready"), column("Deployed", "Deployed"),
					map[string]any{"name": "Revision", "type": "integer", "jsonPath": ".status.deployedRelease.revision"},
				},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type":        "object",
					"description": kind.Kind + " is a release of the Helm chart " + chart.Name() + ".",
					"properties": map[string]any{
						"apiVersion": map[string]any{"type": "string"}, "kind": map[string]any{"type": "string"},
						"metadata": map[string]any{"type": "object"}, "spec": values, "status": status,
					},
				}},
			}},
		},
	})
}
