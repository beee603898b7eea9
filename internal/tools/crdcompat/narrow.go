package crdcompat

import (
	"cmp"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// narrowings describes why a schema accepts fewer values than before. It compares what the two have at the same place: a value that one accepts
// by allOf or by a rule may be refused elsewhere.
func narrowings(was, is *apiextensionsv1.JSONSchemaProps) []string {
	all := slices.Concat(
		raised("minimum", was.Minimum, is.Minimum), lowered("maximum", was.Maximum, is.Maximum),
		raised("minLength", was.MinLength, is.MinLength), lowered("maxLength", was.MaxLength, is.MaxLength),
		raised("minItems", was.MinItems, is.MinItems), lowered("maxItems", was.MaxItems, is.MaxItems),
		raised("minProperties", was.MinProperties, is.MinProperties), lowered("maxProperties", was.MaxProperties, is.MaxProperties),
		fewer(was.Enum, is.Enum),
	)
	if is.ExclusiveMinimum && !was.ExclusiveMinimum && is.Minimum != nil {
		all = append(all, "minimum would be exclusive")
	}
	if is.ExclusiveMaximum && !was.ExclusiveMaximum && is.Maximum != nil {
		all = append(all, "maximum would be exclusive")
	}
	if is.Pattern != "" && is.Pattern != was.Pattern {
		all = append(all, fmt.Sprintf("would have the pattern %q", is.Pattern))
	}
	if was.Nullable && !is.Nullable {
		all = append(all, "would not be nullable")
	}
	return append(all, newRules(was.XValidations, is.XValidations)...)
}

// raised describes a lower bound that is higher than before, or new.
func raised[T cmp.Ordered](name string, was, is *T) []string {
	if is == nil || was != nil && *is <= *was {
		return nil
	}
	return []string{bound(name, was, is)}
}

// lowered describes an upper bound that is lower than before, or new.
func lowered[T cmp.Ordered](name string, was, is *T) []string {
	if is == nil || was != nil && *is >= *was {
		return nil
	}
	return []string{bound(name, was, is)}
}

func bound[T cmp.Ordered](name string, was, is *T) string {
	if was == nil {
		return fmt.Sprintf("would have %s %v", name, *is)
	}
	return fmt.Sprintf("%s was %v and would be %v", name, *was, *is)
}

// fewer describes values that would no longer be accepted.
func fewer(was, is []apiextensionsv1.JSON) []string {
	if len(is) == 0 {
		return nil
	}
	if len(was) == 0 {
		return []string{fmt.Sprintf("would accept only %d values", len(is))}
	}
	var gone []string
	for _, value := range was {
		if !slices.ContainsFunc(is, func(other apiextensionsv1.JSON) bool { return shown(valueOf(&other)) == shown(valueOf(&value)) }) {
			gone = append(gone, "would not accept "+shown(valueOf(&value)))
		}
	}
	return gone
}

// newRules describes CEL rules that did not exist before.
func newRules(was, is apiextensionsv1.ValidationRules) []string {
	var added []string
	for _, one := range is {
		if !slices.ContainsFunc(was, func(other apiextensionsv1.ValidationRule) bool { return other.Rule == one.Rule }) {
			added = append(added, fmt.Sprintf("would have the rule %q", one.Rule))
		}
	}
	return added
}
