package check

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/operon-framework/operon/internal/ship/bundle"
	"github.com/operon-framework/operon/internal/tools/doctor/rule"
	"github.com/operon-framework/operon/internal/tools/project"
)

// checkRoundTrip writes the CSV, the CRDs and the annotations of a bundle, reads them again, and compares them with the originals.
func checkRoundTrip(b *bundle.Bundle, all *findings) {
	var objects []project.Object
	if b.Object != nil {
		objects = append(objects, *b.Object)
	}
	for _, crd := range b.CRDs {
		objects = append(objects, crd.Object)
	}
	for _, object := range objects {
		if path, problem := rewritten(object); problem != "" {
			all.add(roundTrip, rule.At(object, path), "%s %s: %s", object.GetKind(), object.GetName(), problem)
		}
	}
	if !b.Registry() {
		return
	}
	again, err := b.AnnotationsRewritten()
	if before := b.Annotations(); err != nil || !maps.Equal(again, before) {
		all.add(roundTrip, rule.Place{File: b.Dir, Line: 1, Column: 1}, "annotations: %s %v", difference("", asAny(before), asAny(again)), err)
	}
}

func asAny(values map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range values {
		all[key] = value
	}
	return all
}

// rewritten returns the first field of an object that differs after it was written and read again, and what is wrong, or an empty string.
func rewritten(object project.Object) (path, problem string) {
	content, err := project.Write(object.Unstructured)
	if err != nil {
		return "", fmt.Sprintf("it cannot be written: %v", err)
	}
	again, err := project.Parse(object.File, content)
	if err != nil {
		return "", fmt.Sprintf("it cannot be read after it was written: %v", err)
	}
	if len(again) != 1 {
		return "", fmt.Sprintf("it is %d objects after it was written", len(again))
	}
	if path := difference("", object.Object, again[0].Object); path != "" {
		return path, path + " is different after it was written"
	}
	return "", ""
}

// difference returns the path of the first field that differs, or an empty string.
func difference(path string, a, b any) string {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok {
			return named(path)
		}
		for _, key := range slices.Sorted(maps.Keys(a)) {
			value, has := other[key]
			if !has {
				return below(path, key)
			}
			if found := difference(below(path, key), a[key], value); found != "" {
				return found
			}
		}
		for _, key := range slices.Sorted(maps.Keys(other)) {
			if _, has := a[key]; !has {
				return below(path, key)
			}
		}
		return ""
	case []any:
		other, ok := b.([]any)
		if !ok || len(a) != len(other) {
			return named(path)
		}
		for i := range a {
			if found := difference(fmt.Sprintf("%s[%d]", path, i), a[i], other[i]); found != "" {
				return found
			}
		}
		return ""
	}
	if !reflect.DeepEqual(a, b) {
		return named(path)
	}
	return ""
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// named names the object itself if a path is empty.
func named(path string) string {
	if path == "" {
		return "the object"
	}
	return path
}
