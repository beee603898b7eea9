package operontest

import (
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// setDefaults sets defaults of absent fields, from the outside in. A null that is not allowed counts as absent.
func setDefaults(value any, of *spec.Schema) {
	switch value := value.(type) {
	case map[string]any:
		for name, property := range of.Properties {
			if value[name] == nil && !property.Nullable {
				delete(value, name)
			}
			if _, there := value[name]; !there && property.Default != nil {
				value[name] = runtime.DeepCopyJSONValue(property.Default)
			}
		}
		for name, inner := range value {
			if property := propertyOf(of, name); property != nil {
				setDefaults(inner, property)
			}
		}
	case []any:
		for _, element := range value {
			if of.Items != nil && of.Items.Schema != nil {
				setDefaults(element, of.Items.Schema)
			}
		}
	}
}

// propertyOf returns the schema of a field of a map, or nil if there is none.
func propertyOf(of *spec.Schema, name string) *spec.Schema {
	if property, ok := of.Properties[name]; ok {
		return &property
	}
	if of.AdditionalProperties != nil {
		return of.AdditionalProperties.Schema
	}
	return nil
}

// check returns the errors in the fields of an object.
func check(fields map[string]any, of *spec.Schema) field.ErrorList {
	wrong := unknown(fields, of, nil)
	result := validate.NewSchemaValidator(of, nil, "", strfmt.Default).Validate(fields)
	for _, err := range result.Errors {
		var found *openapierrors.Validation
		path, value := "", any(nil)
		if errors.As(err, &found) {
			path, value = found.Name, found.Value
		}
		wrong = append(wrong, field.Invalid(field.NewPath(path), value, err.Error()))
	}
	return wrong
}

// holdsAnything reports whether a schema allows any content in a map.
func holdsAnything(of *spec.Schema) bool {
	free, _ := of.Extensions.GetBool("x-kubernetes-preserve-unknown-fields")
	return free || of.AdditionalProperties != nil && of.AdditionalProperties.Schema == nil
}

// unknown returns the fields that a schema does not have.
func unknown(value any, of *spec.Schema, at *field.Path) field.ErrorList {
	if holdsAnything(of) {
		return nil
	}
	var wrong field.ErrorList
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if at == nil && (name == "apiVersion" || name == "kind" || name == "metadata") {
				continue
			}
			property := propertyOf(of, name)
			if property == nil {
				wrong = append(wrong, field.Forbidden(at.Child(name), "the CustomResourceDefinition does not have this field"))
				continue
			}
			wrong = append(wrong, unknown(value[name], property, at.Child(name))...)
		}
	case []any:
		for i, element := range value {
			if of.Items != nil && of.Items.Schema != nil {
				wrong = append(wrong, unknown(element, of.Items.Schema, at.Index(i))...)
			}
		}
	}
	return wrong
}
