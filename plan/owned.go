package plan

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// owned is what an object's managedFields say, read for one manager.
type owned struct {
	// ours are the fields that the manager applied and that nobody has changed since.
	ours *fieldpath.Set
	// others own fields besides, by their names.
	others map[string]*fieldpath.Set
}

// ownedIn reads the managedFields of an object. An entry that cannot be read is nobody's:
// then it was not Kubernetes that wrote it.
func ownedIn(live *unstructured.Unstructured, manager string) owned {
	o := owned{ours: &fieldpath.Set{}, others: map[string]*fieldpath.Set{}}
	entries, _, _ := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	list, _ := entries.([]any)
	for _, entry := range list {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		set, name := fieldSet(fields["fieldsV1"]), text(fields, "manager")
		if set == nil {
			continue
		}
		if name == manager && text(fields, "operation") == string(metav1.ManagedFieldsOperationApply) && text(fields, "subresource") == "" {
			o.ours = set
			continue
		}
		o.add(name, set)
	}
	return o
}

func (o owned) add(name string, set *fieldpath.Set) {
	if before := o.others[name]; before != nil {
		set = before.Union(set)
	}
	o.others[name] = set
}

func text(fields map[string]any, key string) string {
	value, _ := fields[key].(string)
	return value
}

// fieldSet reads fieldsV1 as an unstructured object holds it: as a tree, or as the JSON
// that Compact made of it.
func fieldSet(fieldsV1 any) *fieldpath.Set {
	raw, ok := fieldsV1.(string)
	if !ok {
		data, err := json.Marshal(fieldsV1)
		if err != nil {
			return nil
		}
		raw = string(data)
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(raw)); err != nil {
		return nil
	}
	return set
}

// holders are the managers, other than ours, that own a field, something in it, or what it
// is a part of.
func (o owned) holders(path fieldpath.Path) string {
	var names []string
	for name, set := range o.others {
		if touches(set, path) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// inside tells whether another manager owns something within a field.
func (o owned) inside(path fieldpath.Path) bool {
	for _, set := range o.others {
		for _, element := range path {
			if set = set.WithPrefix(element); set.Empty() {
				break
			}
		}
		if !set.Empty() {
			return true
		}
	}
	return false
}

func touches(set *fieldpath.Set, path fieldpath.Path) bool {
	for i, element := range path {
		// An element of a list is a member besides its fields: that alone says little.
		if set.Members.Has(element) && (i == len(path)-1 || element.FieldName != nil) {
			return true
		}
		below, ok := set.Children.Get(element)
		if !ok {
			return false
		}
		set = below
	}
	return true
}
