package crd

import (
	"math"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
)

// deepest is the maximum depth to which blocks are filled that a sample does not have.
const deepest = 8

// least returns a small value that a schema is likely to allow: its default, the first value of its enum, or
// only the required parts.
func least(name string, of *structural.Structural, depth int) any {
	if of.Default.Object != nil {
		return runtime.DeepCopyJSONValue(of.Default.Object)
	}
	limits := limitsOf(of)
	if len(limits.Enum) > 0 {
		return runtime.DeepCopyJSONValue(limits.Enum[0].Object)
	}
	switch kindOf(of) {
	case "object":
		return block(of, depth, func(field string, _ *structural.Structural) bool { return slices.Contains(required(of), field) })
	case "array":
		list := []any{}
		for range min(value(limits.MinItems, 0), 5) {
			list = append(list, another(name, of.Items, list, of.XListMapKeys, depth+1))
		}
		return list
	case "integer":
		return int64(lowest(limits, 1))
	case "number":
		return lowest(limits, 1)
	case "boolean":
		return true
	}
	return textsFor(name, of)[0]
}

// filled returns a block with all required fields and all optional scalar fields.
func filled(of *structural.Structural, depth int) any {
	return block(of, depth, func(field string, property *structural.Structural) bool {
		kind := kindOf(property)
		return slices.Contains(required(of), field) || kind != "object" && kind != "array"
	})
}

// block returns a map with the wanted fields.
func block(of *structural.Structural, depth int, wanted func(string, *structural.Structural) bool) map[string]any {
	fields := map[string]any{}
	if depth > deepest {
		return fields
	}
	for field := range of.Properties {
		property := of.Properties[field]
		if wanted(field, &property) {
			fields[field] = least(field, &property, depth+1)
		}
	}
	if elements := valuesOf(of); elements != nil && limitsOf(of).MinProperties != nil {
		fields["key-a"] = least("key", elements, depth+1)
	}
	if of.XEmbeddedResource {
		fields["apiVersion"], fields["kind"], fields["metadata"] = "v1", "ConfigMap", map[string]any{"name": "value-a"}
	}
	return fields
}

// another returns an element for a list that differs from its elements, if the keys or the schema of the
// elements allow that.
func another(name string, of *structural.Structural, in []any, keys []string, depth int) any {
	element := least(name, of, depth)
	if kindOf(of) == "object" {
		if len(in) > 0 {
			element = runtime.DeepCopyJSONValue(in[len(in)-1])
		}
		fields, _ := element.(map[string]any)
		for _, key := range distinguishing(of, fields, keys) {
			property := of.Properties[key]
			fields[key] = different(key, &property, func(candidate any) bool {
				return !slices.ContainsFunc(in, func(other any) bool { return equal(at(other, key), candidate) })
			})
		}
		return fields
	}
	return different(name, of, func(candidate any) bool {
		return !slices.ContainsFunc(in, func(other any) bool { return equal(other, candidate) })
	})
}

// distinguishing returns the fields that distinguish an element from others: the keys of the list, and fields
// that are likely to be unique, too.
func distinguishing(of *structural.Structural, element map[string]any, keys []string) []string {
	found := slices.Clone(keys)
	for _, name := range []string{"name", "id", "key", "path", "port", "containerPort", "host"} {
		_, known := of.Properties[name]
		if _, there := element[name]; there && known && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// different returns a value for which passes returns true. It returns the least value if it finds no such value.
func different(name string, of *structural.Structural, passes func(any) bool) any {
	first := least(name, of, 0)
	candidates := []any{first}
	switch kindOf(of) {
	case "integer":
		number, _ := first.(int64)
		candidates = append(candidates, number+1, number+2, number+3)
	case "string":
		for _, text := range append(textsFor(name, of), "value-c", "value-d") {
			candidates = append(candidates, text)
		}
	}
	for _, element := range limitsOf(of).Enum {
		candidates = append(candidates, element.Object)
	}
	if i := slices.IndexFunc(candidates, passes); i >= 0 {
		return candidates[i]
	}
	return first
}

// lowest returns the smallest allowed number that is not less than wished, if there is one.
func lowest(limits *structural.ValueValidation, wished float64) float64 {
	number := wished
	if limits.Minimum != nil && number < *limits.Minimum {
		number = math.Ceil(*limits.Minimum)
		if limits.ExclusiveMinimum && number == *limits.Minimum {
			number++
		}
	}
	if limits.Maximum != nil && number > *limits.Maximum {
		number = math.Floor(*limits.Maximum)
	}
	if step := limits.MultipleOf; step != nil && *step != 0 {
		number = math.Ceil(number / *step) * *step
	}
	return number
}

// kindOf returns the type of a value: "int-or-string" if it may be either, and "any" if the type is not specified.
func kindOf(of *structural.Structural) string {
	switch {
	case of == nil:
		return "any"
	case of.XIntOrString:
		return "int-or-string"
	case of.Type == "":
		return "any"
	}
	return of.Type
}

var anything structural.ValueValidation

// limitsOf returns the limits of a value. The result is never nil.
func limitsOf(of *structural.Structural) *structural.ValueValidation {
	if of == nil || of.ValueValidation == nil {
		return &anything
	}
	return of.ValueValidation
}

// required returns the required fields of a block: the fields that are always required, and the fields of the first
// alternative.
func required(of *structural.Structural) []string {
	limits := limitsOf(of)
	names := slices.Clone(limits.Required)
	for _, alternatives := range [][]structural.NestedValueValidation{limits.OneOf, limits.AnyOf} {
		if len(alternatives) > 0 {
			names = append(names, alternatives[0].Required...)
		}
	}
	for i := range limits.AllOf {
		names = append(names, limits.AllOf[i].Required...)
	}
	return names
}

// valuesOf returns the schema of a map's values, or nil if it does not have one.
func valuesOf(of *structural.Structural) *structural.Structural {
	if of.AdditionalProperties == nil {
		return nil
	}
	return of.AdditionalProperties.Structural
}

// value returns a limit, or another number if there is no limit.
func value(limit *int64, or int64) int64 {
	if limit == nil {
		return or
	}
	return *limit
}

func at(element any, key string) any {
	fields, _ := element.(map[string]any)
	return fields[key]
}
