package crd

import structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// described returns the schema of a field, or a schema of the value that the field has if the schema allows any content. Helm and Ansible
// operators often have such a spec.
func described(of *structural.Structural, value any) *structural.Structural {
	if of == nil || !of.XPreserveUnknownFields || of.XEmbeddedResource || len(of.Properties) > 0 || valuesOf(of) != nil || of.Items != nil {
		return of
	}
	if known := schemaOf(value); known != nil {
		return known
	}
	return of
}

// schemaOf returns a schema that allows a value and others of the same type, or nil if the value has no content.
func schemaOf(value any) *structural.Structural {
	known := &structural.Structural{}
	switch value := value.(type) {
	case map[string]any:
		known.Type, known.Properties = "object", map[string]structural.Structural{}
		for name, inner := range value {
			if property := schemaOf(inner); property != nil {
				known.Properties[name] = *property
			}
		}
		if len(known.Properties) == 0 {
			return nil
		}
	case []any:
		if len(value) == 0 {
			return nil
		}
		known.Type, known.Items = "array", schemaOf(value[0])
		if known.Items == nil {
			return nil
		}
	case string:
		known.Type = "string"
	case int64:
		known.Type = "integer"
	case float64:
		known.Type = "number"
	case bool:
		known.Type = "boolean"
	default:
		return nil
	}
	return known
}
