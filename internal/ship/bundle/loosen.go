package bundle

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// loosen drops the parts of schemas that v1beta1 allows and v1 cannot express, and returns descriptions of them. A changed schema accepts all
// objects that the original one accepts, and more. No field is dropped from objects.
func loosen(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var changes []string
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		l := &loosener{}
		l.root(version.Schema.OpenAPIV3Schema)
		slices.Sort(l.dropped)
		for _, one := range l.dropped {
			changes = append(changes, fmt.Sprintf("version %s: %s, because v1 cannot express it", version.Name, one))
		}
	}
	for _, problem := range validate(crd) {
		for i := range crd.Spec.Versions {
			version := &crd.Spec.Versions[i]
			shared := strings.HasPrefix(problem.Field, "spec.validation.")
			own := strings.HasPrefix(problem.Field, fmt.Sprintf("spec.versions[%d].schema.", i))
			if (shared || own) && !acceptsEverything(version) {
				acceptEverything(version)
				changes = append(changes, fmt.Sprintf("version %s has a schema that accepts every object, because v1 cannot express the original: %s: %s",
					version.Name, problem.Field, problem.ErrorBody()))
			}
		}
	}
	return changes
}

func acceptEverything(version *apiextensionsv1.CustomResourceDefinitionVersion) {
	version.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: new(true),
	}}
}

func acceptsEverything(version *apiextensionsv1.CustomResourceDefinitionVersion) bool {
	schema := version.Schema.OpenAPIV3Schema
	return len(schema.Properties) == 0 && schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
}

// loosener lists what it drops.
type loosener struct{ dropped []string }

func (l *loosener) drop(path, what string) {
	if path == "" {
		path = "the object"
	}
	l.dropped = append(l.dropped, fmt.Sprintf("%s of %s is dropped", what, path))
}

// root loosens the schema of a whole object. API servers allow nothing but types for the fields that all objects have.
func (l *loosener) root(schema *apiextensionsv1.JSONSchemaProps) {
	schema.Type, schema.Nullable = "object", false
	for name, kind := range map[string]string{"metadata": "object", "apiVersion": "string", "kind": "string"} {
		below, has := schema.Properties[name]
		if !has {
			continue
		}
		if name == "metadata" && (len(below.Properties)+len(below.Required) > 0 || below.AdditionalProperties != nil) {
			l.drop(name, "the schema")
		}
		schema.Properties[name] = apiextensionsv1.JSONSchemaProps{Type: kind, Description: below.Description}
	}
	l.walk("", schema)
}

func (l *loosener) walk(path string, schema *apiextensionsv1.JSONSchemaProps) {
	l.simplify(path, schema)
	l.arrays(path, schema)
	l.additional(path, schema)
	l.junctors(path, schema)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		below := schema.Properties[name]
		l.walk(strings.TrimPrefix(path+"."+name, "."), &below)
		schema.Properties[name] = below
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		l.walk(path+"[]", schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		l.walk(path+".*", schema.AdditionalProperties.Schema)
	}
}

// simplify drops keywords that v1 does not have.
func (l *loosener) simplify(path string, schema *apiextensionsv1.JSONSchemaProps) {
	if schema.UniqueItems {
		schema.UniqueItems = false
		l.drop(path, "uniqueItems")
	}
	if schema.Ref != nil || len(schema.Definitions)+len(schema.Dependencies)+len(schema.PatternProperties) > 0 {
		schema.Ref, schema.Definitions, schema.Dependencies, schema.PatternProperties = nil, nil, nil, nil
		schema.XPreserveUnknownFields = new(true)
		l.drop(path, "a reference to another schema, or a schema for a pattern of fields")
	}
	if _, err := regexp.Compile(schema.Pattern); err != nil {
		schema.Pattern = ""
		l.drop(path, "pattern")
	}
}

// arrays gives each array one schema for all of its elements.
func (l *loosener) arrays(path string, schema *apiextensionsv1.JSONSchemaProps) {
	several := schema.Items != nil && len(schema.Items.JSONSchemas) > 0
	if several {
		l.drop(path, "the list of schemas for elements")
	}
	if several || schema.Type == "array" && (schema.Items == nil || schema.Items.Schema == nil) {
		schema.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: new(true)}}
	}
	schema.AdditionalItems = nil
}

// additional handles additionalProperties, which v1 allows only without properties, and not to forbid them.
func (l *loosener) additional(path string, schema *apiextensionsv1.JSONSchemaProps) {
	more := schema.AdditionalProperties
	if more == nil || len(schema.Properties) == 0 && (more.Allows || more.Schema != nil) {
		return
	}
	if more.Schema != nil || more.Allows {
		schema.XPreserveUnknownFields = new(true)
	}
	schema.AdditionalProperties = nil
	l.drop(path, "additionalProperties")
}

// junctors drops combinations of schemas that have more in them than conditions on values.
func (l *loosener) junctors(path string, schema *apiextensionsv1.JSONSchemaProps) {
	if schema.XIntOrString {
		return // allows types in the combination that it is made of
	}
	for name, all := range map[string]*[]apiextensionsv1.JSONSchemaProps{"allOf": &schema.AllOf, "anyOf": &schema.AnyOf, "oneOf": &schema.OneOf} {
		for i := range *all {
			if !onlyConditions(&(*all)[i], schema) {
				*all = nil
				l.drop(path, name)
				break
			}
		}
	}
	if schema.Not != nil && !onlyConditions(schema.Not, schema) {
		schema.Not = nil
		l.drop(path, "not")
	}
}

// onlyConditions reports whether a schema in a combination has only what v1 allows there: conditions on fields that the schema around it
// has. It removes descriptions, which have no effect.
func onlyConditions(s, outer *apiextensionsv1.JSONSchemaProps) bool {
	s.Description, s.Title = "", ""
	if s.Type != "" || s.AdditionalProperties != nil || s.Default != nil || s.Nullable || s.XPreserveUnknownFields != nil || s.XIntOrString ||
		s.XEmbeddedResource || s.UniqueItems || s.Ref != nil {
		return false
	}
	for name, below := range s.Properties {
		around, has := outer.Properties[name]
		if !has || !onlyConditions(&below, &around) {
			return false
		}
		s.Properties[name] = below
	}
	if s.Items != nil && (s.Items.Schema == nil || outer.Items == nil || outer.Items.Schema == nil || !onlyConditions(s.Items.Schema, outer.Items.Schema)) {
		return false
	}
	for _, all := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range all {
			if !onlyConditions(&all[i], outer) {
				return false
			}
		}
	}
	return s.Not == nil || onlyConditions(s.Not, outer)
}
