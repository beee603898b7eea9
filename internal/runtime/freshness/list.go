package freshness

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func singular(kind string) string { return strings.TrimSuffix(kind, "List") }

// merge lays writes over a list that was read from the cache.
func (o *Overlay) merge(f form, writes map[types.NamespacedName]write, list client.ObjectList, options []client.ListOption) error {
	if len(writes) == 0 {
		return nil
	}
	var asked client.ListOptions
	asked.ApplyOptions(options)
	found, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	merged := make([]runtime.Object, 0, len(found))
	for _, item := range found {
		cached, ok := item.(client.Object)
		if !ok {
			continue
		}
		key := client.ObjectKeyFromObject(cached)
		newest := cached
		if w, kept := writes[key]; kept {
			newest = w.over(cached)
			if newest == w.object {
				newest = newest.DeepCopyObject().(client.Object)
			}
			delete(writes, key)
		}
		if newest == cached || o.finds(f, asked, newest) {
			merged = append(merged, newest)
		}
	}
	merged = append(merged, o.missing(f, asked, writes)...)
	if asked.Limit > 0 && int64(len(merged)) > asked.Limit {
		merged = merged[:asked.Limit]
	}
	return meta.SetList(list, merged)
}

// missing are the objects that were written, that a list finds, and that the cache did not
// show in it.
func (o *Overlay) missing(f form, asked client.ListOptions, writes map[types.NamespacedName]write) []runtime.Object {
	var found []runtime.Object
	for _, w := range writes {
		if w.object != nil && o.finds(f, asked, w.object) {
			found = append(found, w.object.DeepCopyObject())
		}
	}
	slices.SortFunc(found, func(a, b runtime.Object) int { return strings.Compare(keyOf(a), keyOf(b)) })
	return found
}

func keyOf(o runtime.Object) string {
	if object, ok := o.(client.Object); ok {
		return client.ObjectKeyFromObject(object).String()
	}
	return ""
}

// finds tells whether a list with these options finds an object.
func (o *Overlay) finds(f form, asked client.ListOptions, object client.Object) bool {
	if asked.Namespace != "" && asked.Namespace != object.GetNamespace() {
		return false
	}
	if asked.LabelSelector != nil && !asked.LabelSelector.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	if asked.FieldSelector == nil {
		return true
	}
	return !slices.ContainsFunc(asked.FieldSelector.Requirements(), func(r fields.Requirement) bool { return !o.has(f, r, object) })
}

// has tells whether an object has a field of an index, as a cache does it: values are equal.
func (o *Overlay) has(f form, want fields.Requirement, object client.Object) bool {
	switch want.Field {
	case metav1.ObjectNameField:
		return object.GetName() == want.Value
	case "metadata.namespace":
		return object.GetNamespace() == want.Value
	}
	values := o.index(f.GroupVersionKind, want.Field)
	return values != nil && slices.Contains(values(object), want.Value)
}
