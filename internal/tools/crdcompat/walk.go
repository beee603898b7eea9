package crdcompat

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// compareSchemas adds findings about changes of schemas that affect no stored object.
func (c *Comparison) compareSchemas() {
	for _, version := range slices.Sorted(maps.Keys(c.after)) {
		before, after := c.before[version], c.after[version]
		if before == nil || before.Schema == nil || after.Schema == nil {
			continue
		}
		w := walk{c, version}
		w.compare("", before.version.Schema.OpenAPIV3Schema, after.version.Schema.OpenAPIV3Schema)
	}
}

// walk compares two schemas of one version field by field.
type walk struct {
	*Comparison
	version string
}

func (w walk) compare(at string, was, is *apiextensionsv1.JSONSchemaProps) {
	if was.Type != is.Type && was.Type != "" && is.Type != "" {
		w.notice(TypeChanged, at, fmt.Sprintf("was of type %s and would be of type %s; no stored object is invalid for it, but clients may send it", was.Type, is.Type))
		return
	}
	w.compareDefault(at, was, is)
	if narrowed := narrowings(was, is); len(narrowed) > 0 {
		w.notice(ValidationNarrowed, at, strings.Join(narrowed, ", ")+"; no stored object is invalid, but manifests of users may be")
	}
	for _, name := range is.Required {
		if !slices.Contains(was.Required, name) && is.Properties[name].Default == nil {
			w.notice(RequiredAdded, join(at, name), "would be required, and has no default; all stored objects have it, but manifests of users may not")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was.Properties)) {
		before := was.Properties[name]
		after, there := is.Properties[name]
		if there {
			w.compare(join(at, name), &before, &after)
			continue
		}
		if !open(is) {
			w.notice(FieldRemoved, join(at, name), "the schema no longer has this field; no stored object has data in it")
		}
	}
	if before, after := was.Items, is.Items; before != nil && after != nil && before.Schema != nil && after.Schema != nil {
		w.compare(at+"[*]", before.Schema, after.Schema)
	}
	if before, after := was.AdditionalProperties, is.AdditionalProperties; before != nil && after != nil && before.Schema != nil && after.Schema != nil {
		w.compare(join(at, "*"), before.Schema, after.Schema)
	}
}

// open reports whether a schema accepts fields that it does not name.
func open(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.AdditionalProperties != nil || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// notice adds a finding, unless there already is a finding about objects at its place.
func (w walk) notice(rule Rule, path, message string) {
	for place := range maps.Keys(w.dropped) {
		if within(place, w.version+" "+path) {
			return
		}
	}
	for place := range maps.Keys(w.wrong) {
		if within(place, w.version+" "+path) {
			return
		}
	}
	w.add(rule, w.version, path, message)
}

// within reports whether a place is equal to another one or inside it. A step * of the other one stands for every key of a map.
func within(place, other string) bool {
	steps := strings.Split(place, ".")
	wanted := strings.Split(other, ".")
	if len(steps) < len(wanted) {
		return false
	}
	for i, want := range wanted {
		last := i == len(wanted)-1
		if want != "*" && steps[i] != want && !(last && strings.HasPrefix(steps[i], want+"[")) {
			return false
		}
	}
	return true
}

func join(at, name string) string { return strings.TrimPrefix(at+"."+name, ".") }
