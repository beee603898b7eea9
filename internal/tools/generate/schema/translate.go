package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// How to treat fields that a schema does not have.
type others bool

const (
	// closed: they are an error.
	closed others = true
	// open: other parts of the schema check them, as in anyOf.
	open others = false
)

// translate translates a definition's OpenAPI schema to a JSON schema.
func translate(s *apiextensionsv1.JSONSchemaProps, rest others) (object, error) {
	made := object{}
	annotate(made, s)
	if err := values(made, s); err != nil {
		return nil, err
	}
	bounds(made, s)
	if err := fields(made, s, rest); err != nil {
		return nil, err
	}
	if err := elements(made, s, rest); err != nil {
		return nil, err
	}
	if err := combinations(made, s); err != nil {
		return nil, err
	}
	typed(made, s)
	return made, nil
}

// annotate adds the description and title.
func annotate(made object, s *apiextensionsv1.JSONSchemaProps) {
	paragraphs := []string{s.Description}
	for _, rule := range s.XValidations {
		text := rule.Message
		if text == "" {
			text = rule.Rule
		}
		paragraphs = append(paragraphs, "Rule: "+text)
	}
	set(made, "description", strings.TrimSpace(strings.Join(paragraphs, "\n\n")))
	set(made, "title", s.Title)
}

// values adds the default and the allowed values.
func values(made object, s *apiextensionsv1.JSONSchemaProps) error {
	if s.Default != nil {
		value, err := decode(*s.Default)
		if err != nil {
			return fmt.Errorf("default: %w", err)
		}
		made["default"] = value
	}
	var allowed []any
	for _, one := range s.Enum {
		value, err := decode(one)
		if err != nil {
			return fmt.Errorf("enum: %w", err)
		}
		allowed = append(allowed, value)
	}
	if s.Nullable && len(allowed) > 0 && !slices.Contains(allowed, nil) {
		allowed = append(allowed, nil)
	}
	if len(allowed) > 0 {
		made["enum"] = allowed
	}
	if s.Example != nil {
		value, err := decode(*s.Example)
		if err != nil {
			return fmt.Errorf("example: %w", err)
		}
		made["examples"] = []any{value}
	}
	return nil
}

func decode(value apiextensionsv1.JSON) (any, error) {
	var decoded any
	err := json.Unmarshal(value.Raw, &decoded)
	return decoded, err
}

// bounds adds the limits of numbers, strings and sizes.
func bounds(made object, s *apiextensionsv1.JSONSchemaProps) {
	bound(made, "minimum", "exclusiveMinimum", s.Minimum, s.ExclusiveMinimum)
	bound(made, "maximum", "exclusiveMaximum", s.Maximum, s.ExclusiveMaximum)
	set(made, "multipleOf", s.MultipleOf)
	set(made, "minLength", s.MinLength)
	set(made, "maxLength", s.MaxLength)
	set(made, "minItems", s.MinItems)
	set(made, "maxItems", s.MaxItems)
	set(made, "minProperties", s.MinProperties)
	set(made, "maxProperties", s.MaxProperties)
	if s.Pattern != "" && !goOnly.MatchString(s.Pattern) {
		made["pattern"] = s.Pattern
	}
	if known[s.Format] {
		made["format"] = s.Format
	}
	if s.UniqueItems || s.XListType != nil && *s.XListType == "set" {
		made["uniqueItems"] = true
	}
}

// bound adds a limit, which OpenAPI marks as exclusive with a second key.
func bound(made object, inclusive, exclusive string, limit *float64, excluded bool) {
	key := inclusive
	if excluded {
		key = exclusive
	}
	set(made, key, limit)
}

// goOnly matches patterns that Go, and so API servers, support and editors do not.
var goOnly = regexp.MustCompile(`\(\?[a-zA-Z-]|\\[AzQEC]|\[\[:`)

// known lists the formats that have the same meaning in editors. A duration, for example, does not.
var known = map[string]bool{"date-time": true, "date": true, "email": true, "hostname": true, "ipv4": true, "ipv6": true, "uri": true}

// fields adds the fields of an object, or the values of a map.
func fields(made object, s *apiextensionsv1.JSONSchemaProps, rest others) error {
	properties := object{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		one, err := translate(&field, rest)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		properties[name] = one
	}
	required := slices.Clone(s.Required)
	if s.XEmbeddedResource {
		embedded := object{"apiVersion": object{"type": "string"}, "kind": object{"type": "string"}, "metadata": object{"type": "object"}}
		maps.Copy(embedded, properties)
		properties = embedded
		required = append(required, "apiVersion", "kind")
	}
	if len(properties) > 0 {
		made["properties"] = properties
	}
	if len(required) > 0 {
		made["required"] = required
	}
	return remaining(made, s, rest)
}

// remaining adds the schema of fields that are not named.
func remaining(made object, s *apiextensionsv1.JSONSchemaProps, rest others) error {
	preserves := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	switch {
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		each, err := translate(s.AdditionalProperties.Schema, rest)
		if err != nil {
			return fmt.Errorf("each entry: %w", err)
		}
		made["additionalProperties"] = each
	case made["properties"] != nil && !preserves && rest == closed && s.AdditionalProperties == nil:
		made["additionalProperties"] = false
	}
	return nil
}

// elements adds the schema of the elements of a list.
func elements(made object, s *apiextensionsv1.JSONSchemaProps, rest others) error {
	if s.Items == nil || s.Items.Schema == nil {
		return nil
	}
	each, err := translate(s.Items.Schema, rest)
	if err != nil {
		return fmt.Errorf("each item: %w", err)
	}
	made["items"] = each
	return nil
}

// combinations adds allOf, anyOf, oneOf and not, which check existing fields and do not forbid others.
func combinations(made object, s *apiextensionsv1.JSONSchemaProps) error {
	lists := map[string][]apiextensionsv1.JSONSchemaProps{"allOf": s.AllOf, "oneOf": s.OneOf}
	if !s.XIntOrString { // there, anyOf only repeats the type
		lists["anyOf"] = s.AnyOf
	}
	for key, list := range lists {
		var all []any
		for i := range list {
			one, err := translate(&list[i], open)
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			all = append(all, one)
		}
		if len(all) > 0 {
			made[key] = all
		}
	}
	if s.Not == nil {
		return nil
	}
	not, err := translate(s.Not, open)
	made["not"] = not
	return err
}

// typed adds the types that a value may have.
func typed(made object, s *apiextensionsv1.JSONSchemaProps) {
	var types []string
	switch {
	case s.XIntOrString:
		types = []string{"integer", "string"}
	case s.Type != "":
		types = []string{s.Type}
	default:
		return // anything, null too
	}
	if s.Nullable {
		types = append(types, "null")
	}
	if len(types) == 1 {
		made["type"] = types[0]
		return
	}
	made["type"] = types
}

// set adds a value unless it is the zero value.
func set[T comparable](made object, key string, value T) {
	var none T
	if value != none {
		made[key] = value
	}
}
