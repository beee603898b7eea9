package crd

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// path is the path of a value: names of fields, keys, and indexes.
type path []any

// String returns the path in the format of the API server: spec.nodes[0].size.
func (p path) String() string {
	var text strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			text.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			switch {
			case strings.ContainsAny(step, ".[]"):
				fmt.Fprintf(&text, "[%q]", step)
			case text.Len() > 0:
				text.WriteString("." + step)
			default:
				text.WriteString(step)
			}
		}
	}
	return text.String()
}

// to returns the path of a field, key or index below this path.
func (p path) to(step any) path {
	longer := make(path, len(p), len(p)+1)
	copy(longer, p)
	return append(longer, step)
}

// last returns the name of the field. For an element, it is the name of the list.
func (p path) last() string {
	for i := len(p) - 1; i >= 0; i-- {
		if name, ok := p[i].(string); ok {
			return name
		}
	}
	return ""
}

// get returns the value at a path.
func get(value any, at path) (any, bool) {
	for _, step := range at {
		switch step := step.(type) {
		case string:
			fields, ok := value.(map[string]any)
			if value, ok = fields[step], ok && fields != nil; !ok {
				return nil, false
			}
			if _, there := fields[step]; !there {
				return nil, false
			}
		case int:
			elements, ok := value.([]any)
			if !ok || step >= len(elements) {
				return nil, false
			}
			value = elements[step]
		}
	}
	return value, true
}

// with returns a copy of a value that has another value at a path. Missing maps on the way are created with
// the content that missing returns for their path.
func with(value any, at path, other any, missing func(path) any) any {
	return put(runtime.DeepCopyJSONValue(value), nil, at, other, missing)
}

func put(value any, above, below path, other any, missing func(path) any) any {
	if len(below) == 0 {
		return other
	}
	step, here := below[0], above.to(below[0])
	if index, ok := step.(int); ok {
		elements, _ := value.([]any)
		if index < len(elements) {
			elements[index] = put(elements[index], here, below[1:], other, missing)
		}
		return elements
	}
	fields, ok := value.(map[string]any)
	if !ok || fields == nil {
		fields, _ = missing(above).(map[string]any)
	}
	if fields == nil {
		fields = map[string]any{}
	}
	name, _ := step.(string)
	fields[name] = put(fields[name], here, below[1:], other, missing)
	return fields
}

// without returns a copy of a value without the field at a path.
func without(value any, at path) any {
	copied := runtime.DeepCopyJSONValue(value)
	above, _ := get(copied, at[:len(at)-1])
	if fields, ok := above.(map[string]any); ok {
		name, _ := at[len(at)-1].(string)
		delete(fields, name)
	}
	return copied
}
