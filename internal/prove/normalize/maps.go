package normalize

import (
	"regexp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/tools/kube"
)

// Maps are the fields of custom resources that are maps by their schemas. An empty map means the same as none, unlike an empty block, which
// can be a request. The zero value is empty.
type Maps struct {
	schemas map[schema.GroupKind][]*apiextensionsv1.JSONSchemaProps
}

// MapsOf returns the maps in the schemas of all CustomResourceDefinitions among some objects. An error is about a definition that cannot be
// decoded.
func MapsOf(objects ...*unstructured.Unstructured) (Maps, error) {
	m := Maps{schemas: map[schema.GroupKind][]*apiextensionsv1.JSONSchemaProps{}}
	for _, object := range objects {
		if !kube.IsCRD(object) {
			continue
		}
		crd, err := kube.ReadCRD(object)
		if err != nil {
			return m, err
		}
		for _, version := range crd.Spec.Versions {
			if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
				m.schemas[crd.Defines()] = append(m.schemas[crd.Defines()], version.Schema.OpenAPIV3Schema)
			}
		}
	}
	return m, nil
}

// has reports whether a field is a map that may be empty, in the schema of any version.
func (m Maps) has(kind schema.GroupKind, path string) bool {
	return slices.ContainsFunc(m.schemas[kind], func(root *apiextensionsv1.JSONSchemaProps) bool { return isMap(root, path) })
}

// stepsOfState matches the steps of a path of a state: a field, a quoted key, or an element of a list.
var stepsOfState = regexp.MustCompile(`\.([^.\[\]]+)|\["((?:[^"\\]|\\.)*)"\]|\[([^\]]*)\]`)

// isMap follows a path through a schema. An entry of a map is not a map that may be left out, even if its value is one: clients write all
// entries.
func isMap(at *apiextensionsv1.JSONSchemaProps, path string) bool {
	named := false
	for _, step := range stepsOfState.FindAllStringSubmatch("."+path, -1) {
		key := step[1] + step[2]
		below, ok := at.Properties[key]
		switch {
		case key != "" && ok:
			at, named = &below, true
		case key != "" && at.AdditionalProperties != nil && at.AdditionalProperties.Schema != nil:
			at, named = at.AdditionalProperties.Schema, false
		case key == "" && at.Items != nil && at.Items.Schema != nil:
			at, named = at.Items.Schema, false
		default:
			return false
		}
	}
	return named && at.AdditionalProperties != nil && len(at.Properties) == 0 && (at.MinProperties == nil || *at.MinProperties == 0)
}
