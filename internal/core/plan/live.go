package plan

import (
	"maps"
	"slices"
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/operon-framework/operon/internal/core/readiness"
)

// Live is the known state of an existing object: only what a plan depends on, because
// one is held in memory for each child. It must not be changed.
type Live struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Created         metav1.Time
	// Deleting means that the object is deleted once its finalizers are removed.
	Deleting   bool
	Finalizers []string
	// References are the owner references, for garbage collection.
	References []metav1.OwnerReference
	Marks
	// Managed lists which manager owns which fields, except the status.
	Managed []Managed
	// Maps are the keys of maps that the operator owns as a whole, by their paths. If a
	// kind has no schema, managedFields cannot distinguish such a map from one that was emptied.
	Maps map[string][]string
	// State is the readiness of the object.
	State readiness.State
	// Object is the whole object if it is read, else nil.
	Object runtime.Object
}

// Marks are the labels and annotations that Operon writes on each child.
type Marks struct {
	// Owner, PartOf and ManagedBy are the labels OwnerLabel, PartOfLabel and ManagedByLabel.
	Owner, PartOf, ManagedBy string
	// Hash, After and Removal are the annotations HashAnnotation, AfterAnnotation and
	// RemovalAnnotation.
	Hash, After, Removal string
}

// LiveOf returns the retained state of an object, except State and Object. manager is the
// operator's field manager.
func LiveOf(kind schema.GroupVersionKind, object metav1.Object, manager string) *Live {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	live := &Live{
		Kind:            kind,
		Namespace:       shared(object.GetNamespace()),
		Name:            object.GetName(),
		UID:             object.GetUID(),
		ResourceVersion: object.GetResourceVersion(),
		Generation:      object.GetGeneration(),
		Created:         object.GetCreationTimestamp(),
		Deleting:        object.GetDeletionTimestamp() != nil,
		Finalizers:      object.GetFinalizers(),
		References:      references(object.GetOwnerReferences()),
		Marks: Marks{
			Owner:     shared(labels[OwnerLabel]),
			PartOf:    shared(labels[PartOfLabel]),
			ManagedBy: shared(labels[ManagedByLabel]),
			Hash:      annotations[HashAnnotation],
			After:     shared(annotations[AfterAnnotation]),
			Removal:   shared(annotations[RemovalAnnotation]),
		},
		Managed: managedOf(object.GetManagedFields()),
	}
	if loose, ok := object.(*unstructured.Unstructured); ok {
		live.Maps = mapsOwned(loose, ownedIn(live, manager).ours)
	}
	return live
}

// shared returns one copy in memory for equal strings.
func shared(s string) string {
	if s == "" {
		return ""
	}
	return unique.Make(s).Value()
}

func references(all []metav1.OwnerReference) []metav1.OwnerReference {
	kept := make([]metav1.OwnerReference, len(all))
	for i, r := range all {
		kept[i] = metav1.OwnerReference{
			APIVersion: shared(r.APIVersion), Kind: shared(r.Kind), Name: shared(r.Name), UID: types.UID(shared(string(r.UID))), Controller: r.Controller,
		}
	}
	return kept
}

// mapsOwned finds the maps that a set owns as a whole.
func mapsOwned(object *unstructured.Unstructured, ours *fieldpath.Set) map[string][]string {
	var found map[string][]string
	ours.Iterate(func(path fieldpath.Path) {
		names, ok := fieldNames(path)
		if !ok || names[0] == "metadata" {
			return
		}
		value, _, _ := unstructured.NestedFieldNoCopy(object.Object, names...)
		fields, ok := value.(map[string]any)
		if !ok {
			return
		}
		if found == nil {
			found = map[string][]string{}
		}
		found[strings.Join(names, ".")] = slices.Sorted(maps.Keys(fields))
	})
	return found
}

// fieldNames is a path that leads through no list.
func fieldNames(path fieldpath.Path) ([]string, bool) {
	var names []string
	for _, element := range path {
		if element.FieldName == nil {
			return nil, false
		}
		names = append(names, *element.FieldName)
	}
	return names, len(names) > 0
}

// ID returns the ID of the object.
func (l *Live) ID() ID { return ID{l.Kind.GroupKind(), l.Namespace, l.Name} }

// Controller returns the reference to the owner that controls the object, or nil.
func (l *Live) Controller() *metav1.OwnerReference {
	for i := range l.References {
		if c := l.References[i].Controller; c != nil && *c {
			return &l.References[i]
		}
	}
	return nil
}

// RefersTo reports whether the object has a reference to an owner, so that garbage collection
// deletes it after the owner was deleted.
func (l *Live) RefersTo(owner types.UID) bool {
	return slices.ContainsFunc(l.References, func(r metav1.OwnerReference) bool { return r.UID == owner })
}

// GetObjectMeta allows caches of client-go to store Live objects.
func (l *Live) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name, UID: l.UID, ResourceVersion: l.ResourceVersion}
}

// SameAs reports whether two states of the object are equivalent for a plan of the manager and for
// code that waits for the object. The fields of other managers are ignored as long as the manager's own
// are the same: the API server removes from these the fields that others change.
func (l *Live) SameAs(other *Live, manager string) bool {
	whole := l.Object != nil || other.Object != nil
	return l.UID == other.UID && l.State == other.State && l.Deleting == other.Deleting &&
		(!whole || l.ResourceVersion == other.ResourceVersion) &&
		l.Marks == other.Marks &&
		slices.Equal(l.Finalizers, other.Finalizers) &&
		slices.EqualFunc(l.References, other.References, sameReference) &&
		l.appliedBy(manager) == other.appliedBy(manager) &&
		maps.EqualFunc(l.Maps, other.Maps, slices.Equal)
}

func sameReference(a, b metav1.OwnerReference) bool {
	return a.UID == b.UID && (a.Controller != nil && *a.Controller) == (b.Controller != nil && *b.Controller)
}
