package crd

import (
	"math"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// maxCount is the largest maximum that is used as a value: a maximum of 1,000 replicas would
// result in 1,000 pods.
const maxCount = 16

// longest is the limit for the length of a text that is created to test its length.
const longest = 1000

// values returns other values that a schema allows, the most significant first.
func values(name string, of *structural.Structural, old any, there bool) []any {
	limits := limitsOf(of)
	if len(limits.Enum) > 0 {
		var others []any
		for _, choice := range limits.Enum[:min(len(limits.Enum), 6)] {
			others = append(others, choice.Object)
		}
		return others
	}
	switch kindOf(of) {
	case "integer":
		return integers(of, old, there)
	case "number":
		return numbers(limits, old)
	case "boolean":
		was, _ := old.(bool)
		if !there {
			was, _ = of.Default.Object.(bool)
			return []any{!was, was}
		}
		return []any{!was}
	case "string":
		return texts(name, of, old, there)
	case "int-or-string":
		return either(name, old)
	}
	return nil
}

// integers returns the neighbors of a number, zero, and its bounds. The neighbors include odd and even numbers, because
// the schema may require either.
func integers(of *structural.Structural, old any, there bool) []any {
	limits := limitsOf(of)
	number, _ := old.(int64)
	if !there {
		number = int64(lowest(limits, 1)) - 1
		if set, ok := of.Default.Object.(int64); ok {
			number = set
		}
	}
	candidates := []float64{float64(number + 1), float64(number - 1), float64(number + 2), float64(number - 2), 0}
	if limits.Minimum != nil {
		candidates = append(candidates, lowest(limits, *limits.Minimum))
	}
	if limits.Maximum != nil && *limits.Maximum <= maxCount {
		candidates = append(candidates, math.Floor(*limits.Maximum))
	}
	if step := limits.MultipleOf; step != nil {
		candidates = append(candidates, float64(number)+*step)
	}
	var found []any
	for _, candidate := range candidates {
		if limits.Minimum == nil && candidate < 0 || outside(candidate, limits) {
			continue
		}
		found = append(found, int64(candidate))
	}
	return found
}

func outside(number float64, limits *structural.ValueValidation) bool {
	return limits.Minimum != nil && (number < *limits.Minimum || limits.ExclusiveMinimum && number == *limits.Minimum) ||
		limits.Maximum != nil && (number > *limits.Maximum || limits.ExclusiveMaximum && number == *limits.Maximum)
}

func numbers(limits *structural.ValueValidation, old any) []any {
	number := 1.0
	switch old := old.(type) {
	case float64:
		number = old
	case int64:
		number = float64(old)
	}
	var found []any
	for _, candidate := range []float64{number * 2, number / 2, number + 0.5} {
		if !outside(candidate, limits) {
			found = append(found, candidate)
		}
	}
	for _, bound := range []*float64{limits.Minimum, limits.Maximum} {
		if bound != nil && !outside(*bound, limits) {
			found = append(found, *bound)
		}
	}
	return found
}

// texts returns other texts: texts of the same sort as the old one, texts with the format or the pattern of the
// schema, an empty text, and a text with the maximum length.
func texts(name string, of *structural.Structural, old any, there bool) []any {
	limits := limitsOf(of)
	was, _ := old.(string)
	var found []any
	if there && was != "" && limits.Format == "" {
		for _, other := range otherTexts(name, was) {
			found = append(found, other)
		}
	}
	for _, other := range textsFor(name, of) {
		found = append(found, other)
	}
	if limits.Pattern != "" {
		matching, err := compile(limits.Pattern)
		if err == nil {
			found = keep(found, matching)
		}
	}
	if most := value(limits.MaxLength, -1); most >= 0 && most <= 253 && limits.Pattern == "" && limits.Format == "" {
		found = append(found, strings.Repeat("x", int(most)))
	}
	if there && was != "" && value(limits.MinLength, 0) == 0 && limits.Pattern == "" && limits.Format == "" {
		found = append(found, "")
	}
	return found
}

// either returns values of a field that may be an integer or a string.
func either(name string, old any) []any {
	switch old := old.(type) {
	case int64:
		return []any{old + 1, text(old)}
	case string:
		var found []any
		for _, other := range otherTexts(name, old) {
			found = append(found, other)
		}
		return found
	}
	return []any{int64(1), likely(name)[0], "50%"}
}

// wrongValues returns values that a schema rejects, as far as the schema alone shows this.
func wrongValues(of *structural.Structural) []any {
	limits := limitsOf(of)
	var found []any
	if limits.Minimum != nil {
		found = append(found, number(of, math.Floor(*limits.Minimum)-1))
	}
	if limits.Maximum != nil {
		found = append(found, number(of, math.Ceil(*limits.Maximum)+1))
	}
	if len(limits.Enum) > 0 && kindOf(of) == "string" {
		found = append(found, "no-such-choice")
	}
	if length := value(limits.MaxLength, -1); length >= 0 && length < longest {
		found = append(found, strings.Repeat("x", int(length)+1))
	}
	if length := value(limits.MinLength, 0); length > 0 && length < longest {
		found = append(found, strings.Repeat("x", int(length)-1))
	}
	if limits.Pattern != "" {
		found = append(found, "§ no match §")
	}
	if limits.Format != "" && kindOf(of) == "string" {
		found = append(found, "§ not of this format §")
	}
	switch kindOf(of) {
	case "integer", "number", "boolean":
		found = append(found, "of another type")
	case "string":
		found = append(found, int64(7))
	case "array":
		found = append(found, map[string]any{"of": "another type"})
	case "object":
		found = append(found, "of another type")
	}
	return found
}

func number(of *structural.Structural, value float64) any {
	if kindOf(of) == "integer" {
		return int64(value)
	}
	return value
}
