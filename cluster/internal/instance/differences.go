package instance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
)

// Differences returns the fields of a requested spec that a running cluster was started with other values for, by their names in a
// configuration file. Fields that are not set in the spec request nothing.
func Differences(name string, want Spec) ([]string, error) {
	f, err := openFolder(name)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(f.spec())
	if err != nil {
		return nil, err
	}
	has := map[string]any{}
	if err := json.Unmarshal(content, &has); err != nil {
		return nil, fmt.Errorf("%s: %w", f.spec(), err)
	}
	requested, err := fieldsOf(want)
	if err != nil {
		return nil, err
	}
	if err := want.complete(); err != nil {
		return nil, err
	}
	completed, err := fieldsOf(want)
	if err != nil {
		return nil, err
	}
	var different []string
	for _, field := range slices.Sorted(maps.Keys(requested)) {
		if !reflect.DeepEqual(completed[field], has[field]) {
			different = append(different, field)
		}
	}
	return different, nil
}

// fieldsOf returns the fields of a spec that are set, as in its file.
func fieldsOf(spec Spec) (map[string]any, error) {
	content, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	return fields, json.Unmarshal(content, &fields)
}
