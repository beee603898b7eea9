package operontest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

// shrink makes an object smaller as long as the problem remains: it removes fields and elements, the largest parts first, and
// simplifies values. It does not change fields.
func shrink(fields map[string]any, wrong func(map[string]any) bool) map[string]any {
	for smallest := fields; ; {
		smaller := shrinkOnce(smallest, wrong)
		if smaller == nil {
			return smallest
		}
		smallest = smaller
	}
}

// shrinkOnce returns a smaller object, or nil.
func shrinkOnce(fields map[string]any, wrong func(map[string]any) bool) map[string]any {
	for _, at := range places(fields, nil) {
		for _, change := range []func(any, []any) any{without, plainer} {
			candidate := change(runtime.DeepCopyJSONValue(fields), at).(map[string]any)
			if cost(candidate) < cost(fields) && wrong(candidate) {
				return candidate
			}
		}
	}
	return nil
}

// places returns the paths of all values in a value, from the outside in: a string for a field, a number for an element. The
// fields that identify an object are left out, because they are required.
func places(value any, at []any) [][]any {
	var all [][]any
	add := func(step any, inner any) {
		here := append(slices.Clone(at), step)
		all = append(append(all, here), places(inner, here)...)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !named(at, name) {
				add(name, value[name])
			}
		}
	case []any:
		for i, element := range value {
			add(i, element)
		}
	}
	return all
}

// named reports whether a field is required in every object.
func named(at []any, name string) bool {
	if len(at) == 0 {
		return name == "apiVersion" || name == "kind"
	}
	return len(at) == 1 && at[0] == "metadata" && name == "name"
}

// without removes the value at a place.
func without(value any, at []any) any {
	return edit(value, at, func(holder any, last any) any {
		if list, ok := holder.([]any); ok {
			return slices.Delete(list, last.(int), last.(int)+1)
		}
		delete(holder.(map[string]any), last.(string))
		return holder
	})
}

// plainer replaces the value at a place with the simplest value of its type.
func plainer(value any, at []any) any {
	return edit(value, at, func(holder any, last any) any {
		if list, ok := holder.([]any); ok {
			list[last.(int)] = plain(list[last.(int)])
			return list
		}
		fields := holder.(map[string]any)
		fields[last.(string)] = plain(fields[last.(string)])
		return fields
	})
}

// edit applies change to the map or list that contains the place.
func edit(value any, at []any, change func(holder any, last any) any) any {
	if len(at) == 1 {
		return change(value, at[0])
	}
	switch holder := value.(type) {
	case []any:
		i := at[0].(int)
		holder[i] = edit(holder[i], at[1:], change)
	case map[string]any:
		name := at[0].(string)
		holder[name] = edit(holder[name], at[1:], change)
	}
	return value
}

// plain returns the simplest value of a type that is not its zero value, which Go often omits.
func plain(value any) any {
	switch value.(type) {
	case string:
		return "a"
	case int64:
		return int64(1)
	case float64:
		return float64(1)
	}
	return value
}

// cost returns how much of a value there is to read.
func cost(value any) int {
	total := 1
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			total += len(name) + cost(inner)
		}
	case []any:
		for _, element := range value {
			total += cost(element)
		}
	case string:
		total += len(strconv.Quote(value))
	case int64, float64:
		total += len(fmt.Sprint(value))
	}
	if fmt.Sprint(value) != fmt.Sprint(plain(value)) {
		total++
	}
	return total
}

// names returns the names in two maps, in order.
func names(one, other map[string]any) []string {
	all := maps.Clone(one)
	maps.Copy(all, other)
	return slices.Sorted(maps.Keys(all))
}
