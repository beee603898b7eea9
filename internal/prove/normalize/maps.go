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

// hasMap reports whether a field is a map that may be empty, in the schema of any version.
func (m Maps) hasMap(kind schema.GroupKind, path string) bool {
	return slices.ContainsFunc(m.schemas[kind], func(root *apiextensionsv1.JSONSchemaProps) bool {
		at, isEntry := follow(root, path)
		return at != nil && !isEntry && at.AdditionalProperties != nil && len(at.Properties) == 0 && (at.MinProperties == nil || *at.MinProperties == 0)
	})
}

// hasEntry reports whether a field is an entry of a map, in the schema of any version. Clients write all entries, also those with an empty value.
func (m Maps) hasEntry(kind schema.GroupKind, path string) bool {
	return slices.ContainsFunc(m.schemas[kind], func(root *apiextensionsv1.JSONSchemaProps) bool {
		at, isEntry := follow(root, path)
		return at != nil && isEntry
	})
}

// stepsOfState matches the steps of a path of a state: a field, a quoted key, or an element of a list.
var stepsOfState = regexp.MustCompile(`\.([^.\[\]]+)|\["((?:[^"\\]|\\.)*)"\]|\[([^\]]*)\]`)

// follow returns the schema at a path, and whether that is an entry of a map or an element of a list. It is nil if there is none.
func follow(at *apiextensionsv1.JSONSchemaProps, path string) (found *apiextensionsv1.JSONSchemaProps, isEntry bool) {
	for _, step := range stepsOfState.FindAllStringSubmatch("."+path, -1) {
		key := step[1] + step[2]
		below, ok := at.Properties[key]
		switch {
		case key != "" && ok:
			at, isEntry = &below, false
		case key != "" && at.AdditionalProperties != nil && at.AdditionalProperties.Schema != nil:
			at, isEntry = at.AdditionalProperties.Schema, true
		case key == "" && at.Items != nil && at.Items.Schema != nil:
			at, isEntry = at.Items.Schema, true
		default:
			return nil, false
		}
	}
	return at, isEntry
}
