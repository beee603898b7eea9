package chartkind

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/operon-framework/operon/engine/helm"
)

// spec returns the schema of the spec: the schema in values.schema.json as far as a CustomResourceDefinition can express it, or else a
// schema derived from the values of the chart. It accepts everything that the chart accepts. The chart's own schema is checked when the
// chart is rendered. Fields without a description are described by the comments in values.yaml.
func spec(chart *helm.Chart) (map[string]any, error) {
	_, text := chart.Values()
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("chart %s: values.yaml: %w", chart.Name(), err)
	}
	values := &yaml.Node{Kind: yaml.MappingNode}
	if len(document.Content) > 0 && document.Content[0].Kind == yaml.MappingNode {
		values = document.Content[0]
	}
	if text = chart.Schema(); len(text) == 0 {
		return ofValue(values), nil
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("chart %s: values.schema.json: %w", chart.Name(), err)
	}
	found := ofSchema(schema)
	if found["type"] != "object" {
		found = open("object")
	}
	describe(found, values)
	return found, nil
}

// open returns the schema of a value without further restrictions. An empty kind means any type.
func open(kind string) map[string]any {
	schema := map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	if kind != "" {
		schema["type"] = kind
	}
	return schema
}

// ofValue returns a schema for values similar to a value in values.yaml. Additional fields are allowed, because charts read more values
// than they document.
func ofValue(node *yaml.Node) map[string]any {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind == yaml.MappingNode:
		schema := open("object")
		properties := map[string]any{}
		for key, value := range fields(node) {
			property := ofValue(value)
			if about := comment(key, value); about != "" {
				property["description"] = about
			}
			properties[key.Value] = property
		}
		if len(properties) > 0 {
			schema["properties"] = properties
		}
		return schema
	case node.Kind == yaml.SequenceNode:
		return map[string]any{"type": "array", "items": open("")}
	case node.Tag == "!!bool":
		return map[string]any{"type": "boolean"}
	case node.Tag == "!!int", node.Tag == "!!str":
		return map[string]any{"x-kubernetes-int-or-string": true}
	}
	return open("") // null, or a number that may also be written as text
}

// fields returns the keys and values of a mapping, without merged ones. Other nodes have none.
func fields(node *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i]; key.Value != "<<" && !yield(key, node.Content[i+1]) {
				return
			}
		}
	}
}

// describe describes the fields of a schema that have no description by the comments of values.
func describe(schema map[string]any, values *yaml.Node) {
	properties, _ := schema["properties"].(map[string]any)
	for key, value := range fields(values) {
		property, ok := properties[key.Value].(map[string]any)
		if !ok {
			continue
		}
		if about := comment(key, value); about != "" && property["description"] == nil {
			property["description"] = about
		}
		describe(property, value)
	}
}

// comment returns the comment of a value, without the markers of documentation generators.
func comment(key, value *yaml.Node) string {
	text := key.HeadComment
	if text == "" {
		text = value.LineComment
	}
	paragraphs := strings.Split(text, "\n\n")
	var words []string
	for line := range strings.Lines(paragraphs[len(paragraphs)-1]) {
		words = append(words, strings.Fields(strings.TrimLeft(line, "# -"))...)
	}
	return strings.Join(words, " ")
}

// copied are the keywords of JSON Schema that have the same meaning in a CustomResourceDefinition, and the rules that only a
// CustomResourceDefinition has: other validators ignore them.
var copied = []string{
	"description", "title", "format", "pattern", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
	"x-kubernetes-validations",
}

// inexpressible are the keywords that a CustomResourceDefinition does not have, or only in restricted forms.
var inexpressible = []string{"$ref", "oneOf", "anyOf", "allOf", "not", "if", "const", "patternProperties", "dependencies"}

// ofSchema converts a JSON schema. Parts that cannot be expressed are left open. Required fields are not required, because the chart's
// default values complete the spec.
func ofSchema(schema map[string]any) map[string]any {
	if slices.ContainsFunc(inexpressible, func(keyword string) bool { return schema[keyword] != nil }) {
		return open("")
	}
	kind, nullable := typeOf(schema["type"])
	if kind == "" {
		return open("")
	}
	converted := map[string]any{"type": kind}
	if nullable {
		converted["nullable"] = true
	}
	for _, keyword := range copied {
		if value, ok := schema[keyword]; ok {
			converted[keyword] = value
		}
	}
	switch kind {
	case "object":
		convertObject(schema, converted)
	case "array":
		converted["items"] = open("")
		if items, ok := schema["items"].(map[string]any); ok {
			converted["items"] = ofSchema(items)
		}
	}
	return converted
}

func convertObject(schema, converted map[string]any) {
	properties, ok := schema["properties"].(map[string]any)
	if ok {
		all := map[string]any{}
		for name, property := range properties {
			all[name] = open("")
			if below, ok := property.(map[string]any); ok {
				all[name] = ofSchema(below)
			}
		}
		converted["properties"] = all
	}
	additional, isSchema := schema["additionalProperties"].(map[string]any)
	switch {
	case isSchema && !ok:
		converted["additionalProperties"] = ofSchema(additional)
	case schema["additionalProperties"] != false:
		converted["x-kubernetes-preserve-unknown-fields"] = true
	}
}

// typeOf returns the only type of values other than null, or "".
func typeOf(written any) (kind string, nullable bool) {
	switch written := written.(type) {
	case string:
		return written, false
	case []any:
		others := slices.DeleteFunc(slices.Clone(written), func(kind any) bool { return kind == "null" })
		if len(others) == 1 {
			kind, _ = others[0].(string)
			return kind, len(others) < len(written)
		}
	}
	return "", false
}
