package contents

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// version is the only version of the kinds in kinds that API servers serve.
const version = "v1"

// older is a version that Kubernetes removed, and whose objects have the same fields and the same meaning in v1.
type older struct {
	group string
	// since is the version of Kubernetes that removed it.
	since string
	// adapt changes fields that would mean something else in v1, and describes the change. It is nil if there are none.
	adapt func(object *unstructured.Unstructured) string
}

// olderVersions are versions whose objects are converted.
var olderVersions = map[schema.GroupVersionKind]older{
	{Group: "extensions", Version: "v1beta1", Kind: "NetworkPolicy"}:                     {"networking.k8s.io", "1.16", nil},
	{Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"}:                   {"policy", "1.25", withoutEmptySelector},
	{Group: "rbac.authorization.k8s.io", Version: "v1beta1", Kind: "ClusterRole"}:        {"rbac.authorization.k8s.io", "1.22", nil},
	{Group: "rbac.authorization.k8s.io", Version: "v1beta1", Kind: "ClusterRoleBinding"}: {"rbac.authorization.k8s.io", "1.22", nil},
	{Group: "rbac.authorization.k8s.io", Version: "v1beta1", Kind: "Role"}:               {"rbac.authorization.k8s.io", "1.22", nil},
	{Group: "rbac.authorization.k8s.io", Version: "v1beta1", Kind: "RoleBinding"}:        {"rbac.authorization.k8s.io", "1.22", nil},
	{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PriorityClass"}:              {"scheduling.k8s.io", "1.22", nil},
}

// Converts returns the version of its API in which an object of a removed version is written, or an empty string.
func Converts(kind schema.GroupVersionKind) string {
	if old, listed := olderVersions[kind]; listed {
		return old.group + "/" + version
	}
	return ""
}

// withoutEmptySelector removes the selector of a PodDisruptionBudget that selects no pods in v1beta1, and all pods of the namespace in v1.
func withoutEmptySelector(object *unstructured.Unstructured) string {
	spec, _ := object.Object["spec"].(map[string]any)
	selector, is := spec["selector"].(map[string]any)
	if !is {
		return ""
	}
	labels, _ := selector["matchLabels"].(map[string]any)
	expressions, _ := selector["matchExpressions"].([]any)
	if len(labels)+len(expressions) > 0 {
		return ""
	}
	delete(spec, "selector")
	return "its empty selector is left out, because it would select all pods"
}

// Current returns a copy of an object of a bundle in the version of its API that API servers serve, without fields that they do not know. The
// text describes the differences, and is empty if there are none. The error says why API servers or the lifecycle manager refuse the object.
func Current(object *unstructured.Unstructured) (*unstructured.Unstructured, string, error) {
	object = object.DeepCopy()
	named := object.GetKind() + " " + object.GetName()
	if wrong := path.IsValidPathSegmentName(object.GetName()); object.GetName() == "" || len(wrong) > 0 {
		return nil, "", fmt.Errorf("%s: metadata.name is missing or not a name", strings.TrimSpace(named))
	}
	want, known := kinds[object.GetKind()]
	var changes []string
	was := object.GroupVersionKind()
	if old, listed := olderVersions[was]; listed {
		object.SetGroupVersionKind(schema.GroupVersionKind{Group: old.group, Version: version, Kind: was.Kind})
		changes = append(changes, fmt.Sprintf("%s is written in %s, because Kubernetes %s removed %s", named, object.GetAPIVersion(), old.since, was.GroupVersion()))
		if old.adapt != nil {
			changes = append(changes, old.adapt(object))
		}
	}
	has := object.GroupVersionKind()
	switch {
	case !known || has.Group != want.group:
		return nil, "", fmt.Errorf("%s of %s, which a bundle cannot contain", named, object.GetAPIVersion())
	case want.typed == nil:
		return object, "", nil
	case has.Version != version:
		return nil, "", fmt.Errorf("%s is in %s, which API servers do not serve: use %s", named, object.GetAPIVersion(), schema.GroupVersion{Group: want.group, Version: version})
	}
	unknown, err := prune(object, want.typed())
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", named, err)
	}
	if len(unknown) > 0 {
		changes = append(changes, fmt.Sprintf("%s is written without %s, which Kubernetes does not know", named, strings.Join(unknown, ", ")))
	}
	changes = slices.DeleteFunc(changes, func(text string) bool { return text == "" })
	return object, strings.Join(changes, ", and "), nil
}

// prune removes the fields that a type does not have and returns them. It fails if a field has another type.
func prune(object *unstructured.Unstructured, typed any) ([]string, error) {
	content, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	strict, err := kjson.UnmarshalStrict(content, typed)
	if err != nil {
		return nil, err
	}
	var unknown []string
	for _, one := range strict {
		var field kjson.FieldError
		if !errors.As(one, &field) {
			return nil, one
		}
		if !remove(object.Object, field.FieldPath()) {
			return nil, fmt.Errorf("unknown field %q", field.FieldPath())
		}
		unknown = append(unknown, field.FieldPath())
	}
	return unknown, nil
}

var step = regexp.MustCompile(`^([^.\[\]]+)((?:\[\d+\])*)$`)

// remove removes the field at a path such as spec.ports[0].name, and reports whether it was there.
func remove(fields map[string]any, at string) bool {
	steps := strings.Split(at, ".")
	for _, one := range steps[:len(steps)-1] {
		parts := step.FindStringSubmatch(one)
		if parts == nil {
			return false
		}
		value := fields[parts[1]]
		for _, index := range strings.FieldsFunc(parts[2], func(r rune) bool { return r == '[' || r == ']' }) {
			list, is := value.([]any)
			var i int
			if _, err := fmt.Sscan(index, &i); err != nil || !is || i >= len(list) {
				return false
			}
			value = list[i]
		}
		below, is := value.(map[string]any)
		if !is {
			return false
		}
		fields = below
	}
	last := steps[len(steps)-1]
	_, is := fields[last]
	delete(fields, last)
	return is
}
