package freshness

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func singular(kind string) string { return strings.TrimSuffix(kind, "List") }

// merge overlays the writes of a view on a list that was read from the cache.
func (o *Overlay) merge(f form, view *View[objectKey, client.Object], list client.ObjectList, options []client.ListOption) error {
	unshown := slices.DeleteFunc(view.Keys(), func(key objectKey) bool { return key.form != f })
	if len(unshown) == 0 {
		return nil
	}
	var asked client.ListOptions
	asked.ApplyOptions(options)
	found, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	var merged []runtime.Object
	add := func(key objectKey, cached client.Object) {
		newest := view.Newest(key, cached)
		switch {
		case newest == nil:
		case newest == cached:
			merged = append(merged, cached)
		case o.finds(f, asked, newest):
			merged = append(merged, newest.DeepCopyObject())
		}
	}
	for _, item := range found {
		if cached, ok := item.(client.Object); ok {
			key := objectKey{f, client.ObjectKeyFromObject(cached)}
			unshown = slices.DeleteFunc(unshown, func(other objectKey) bool { return other == key })
			add(key, cached)
		}
	}
	slices.SortFunc(unshown, func(a, b objectKey) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range unshown {
		add(key, nil)
	}
	if asked.Limit > 0 && int64(len(merged)) > asked.Limit {
		merged = merged[:asked.Limit]
	}
	return meta.SetList(list, merged)
}

// finds reports whether a list with these options includes an object.
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

// has reports whether a field of an index has the requested value in an object. Like a cache, it compares for equality.
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
