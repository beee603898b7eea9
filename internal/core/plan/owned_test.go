package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// own sets the managedFields that live has after manager "us" applied desired and
// others then took the fields that their entries name.
func own(t *testing.T, live, desired *unstructured.Unstructured, lost any) {
	t.Helper()
	set := &fieldpath.Set{}
	insert(set, nil, desired.Object)
	entries := live.GetManagedFields()
	for _, entry := range entries {
		set = set.RecursiveDifference(parse(t, string(entry.FieldsV1.GetRawBytes())))
	}
	if lost != nil {
		data, err := json.Marshal(lost)
		if err != nil {
			t.Fatal(err)
		}
		set = set.RecursiveDifference(parse(t, string(data)))
	}
	data, err := set.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	fields := &metav1.FieldsV1{}
	fields.SetRawBytes(data)
	live.SetManagedFields(append(entries, metav1.ManagedFieldsEntry{
		Manager: "us", Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: fields,
	}))
}

func parse(t *testing.T, text string) *fieldpath.Set {
	t.Helper()
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return set
}

// insert adds the fields that an apply owns. Lists of maps with a name are merged by name;
// all other lists are atomic.
func insert(set *fieldpath.Set, at fieldpath.Path, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			insert(set, append(at.Copy(), fieldpath.FieldNameElement(name)), field)
		}
		if len(value) > 0 {
			return
		}
	case []any:
		if keyed(set, at, value) {
			return
		}
	}
	set.Insert(at)
}

func keyed(set *fieldpath.Set, at fieldpath.Path, list []any) bool {
	for _, element := range list {
		object, ok := element.(map[string]any)
		if !ok || object["name"] == nil {
			return false
		}
		path := append(at.Copy(), fieldpath.KeyElementByFields("name", object["name"]))
		set.Insert(path)
		insert(set, path, object)
	}
	return len(list) > 0
}
