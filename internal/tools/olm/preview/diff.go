package preview

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Change is a field with another value. A missing value is null.
type Change struct {
	Path string `json:"path"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

// String returns the change in one line.
func (c Change) String() string {
	return fmt.Sprintf("%s: %s -> %s", c.Path, short(c.From), short(c.To))
}

// shownValue is the number of bytes of a value that text shows.
const shownValue = 80

func short(value any) string {
	if value == nil {
		return "(none)"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if runes := []rune(string(text)); len(runes) > shownValue {
		return string(runes[:shownValue]) + "…"
	}
	return string(text)
}

// maxChanges is the number of changes of one object.
const maxChanges = 200

// differ collects the changes from one value to another.
type differ struct {
	changes []Change
	// removes means that fields that only the old value has are changes. Otherwise they stay.
	removes bool
}

// diff returns the changes from one object to another.
func diff(from, to any, removes bool) []Change {
	d := &differ{removes: removes}
	d.value("", from, to)
	return d.changes
}

func (d *differ) value(path string, from, to any) {
	if reflect.DeepEqual(from, to) || len(d.changes) == maxChanges {
		return
	}
	switch to := to.(type) {
	case map[string]any:
		if from, ok := from.(map[string]any); ok {
			d.fields(path, from, to)
			return
		}
	case []any:
		if from, ok := from.([]any); ok && d.items(path, from, to) {
			return
		}
	}
	if a, ok := number(from); ok {
		if b, ok := number(to); ok && a == b {
			return
		}
	}
	d.changes = append(d.changes, Change{path, from, to})
}

// number returns a number: those of the API server are integers, and those of JSON are not.
func number(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

func (d *differ) fields(path string, from, to map[string]any) {
	names := slices.Collect(maps.Keys(to))
	if d.removes {
		for name := range from {
			if _, ok := to[name]; !ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		below := name
		if path != "" {
			below = path + "." + name
		}
		d.value(below, from[name], to[name])
	}
}

// items compares lists item by item: those of objects with names by their names, and others if they have the same length.
func (d *differ) items(path string, from, to []any) bool {
	before, after := byName(from), byName(to)
	if before != nil && after != nil {
		for _, name := range slices.Sorted(maps.Keys(merge(before, after))) {
			if _, stays := after[name]; stays || d.removes {
				d.value(fmt.Sprintf("%s[%s]", path, name), before[name], after[name])
			}
		}
		return true
	}
	if len(from) != len(to) {
		return false
	}
	for i := range to {
		d.value(fmt.Sprintf("%s[%d]", path, i), from[i], to[i])
	}
	return true
}

func merge(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// byName returns the items of a list by their names, or nil if an item has none, or two have the same.
func byName(list []any) map[string]any {
	all := map[string]any{}
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, ok := object["name"].(string)
		if _, twice := all[name]; !ok || twice {
			return nil
		}
		all[name] = item
	}
	return all
}
