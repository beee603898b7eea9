package manifest

import (
	"fmt"
	"maps"
	"slices"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// invalidLists returns the errors about lists and maps for which an API server rejects a schema, besides those of
// ValidateStructural.
func invalidLists(s *structural.Structural, path *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	var problems field.ErrorList
	if s.ValueValidation != nil && s.ValueValidation.UniqueItems {
		problems = append(problems, field.Forbidden(path.Child("uniqueItems"), "use x-kubernetes-list-type: set"))
	}
	if more := s.AdditionalProperties; len(s.Properties) > 0 && more != nil && (more.Structural != nil || !more.Bool) {
		problems = append(problems, field.Forbidden(path.Child("additionalProperties"), "an object has either properties or additionalProperties"))
	}
	if s.XListType != nil && s.Items != nil {
		problems = append(problems, invalidItems(s, path)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		below := s.Properties[name]
		problems = append(problems, invalidLists(&below, path.Child("properties").Key(name))...)
	}
	problems = append(problems, invalidLists(s.Items, path.Child("items"))...)
	if s.AdditionalProperties != nil {
		problems = append(problems, invalidLists(s.AdditionalProperties.Structural, path.Child("additionalProperties"))...)
	}
	return problems
}

// invalidItems checks the items of a list with a list type: items of a set must be values, and items of a map must have its
// keys.
func invalidItems(s *structural.Structural, path *field.Path) field.ErrorList {
	items := s.Items
	if *s.XListType == "set" && items.Type == "object" && (items.XMapType == nil || *items.XMapType != "atomic") {
		return field.ErrorList{field.Invalid(path.Child("items"), items.Type, "the items of a set are scalars, or objects with x-kubernetes-map-type: atomic")}
	}
	if *s.XListType != "map" {
		return nil
	}
	var problems field.ErrorList
	for i, key := range s.XListMapKeys {
		at := path.Child("x-kubernetes-list-map-keys").Index(i)
		found, ok := items.Properties[key]
		required := items.ValueValidation != nil && slices.Contains(items.ValueValidation.Required, key)
		switch {
		case !ok:
			problems = append(problems, field.Invalid(at, key, "the items have no such field"))
		case !required && found.Default.Object == nil:
			problems = append(problems, field.Required(at, fmt.Sprintf("the field %q of the items is a key, so make it required or give it a default", key)))
		}
	}
	return problems
}
