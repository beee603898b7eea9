package plan

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Compact replaces, in the managedFields of an object that is to be kept, each tree of
// fields by its JSON: a fifth of the memory. Compare reads both forms; nothing else does, so
// that managedFields have to be dropped before the object is given to anybody else.
func Compact(live *unstructured.Unstructured) error {
	entries, _, err := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	if err != nil {
		return err
	}
	list, _ := entries.([]any)
	for _, entry := range list {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		tree, ok := fields["fieldsV1"].(map[string]any)
		if !ok {
			continue
		}
		data, err := json.Marshal(tree)
		if err != nil {
			return err
		}
		fields["fieldsV1"] = string(data)
	}
	return nil
}
