package watches

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Children returns the objects of a kind that have an owner's label, as delivered by watches.
// They must not be changed. A refused permission is the API server's error; a kind that the
// cluster lacks is a *resourceclient.MissingKindError.
//
// Any user can set the label in their own namespace. Changes there trigger the owner only if it is
// the owner's namespace or one of elsewhere. Those of elsewhere that are not watched by default get a watch of their own.
func (s *Session) Children(ctx context.Context, kind resourceclient.Children, owner types.UID, elsewhere ...string) ([]*plan.Live, error) {
	sc := scope{kind: kind.Kind, form: s.tracker.Wire.Form(kind), child: true, whole: kind.Whole, keys: plan.OwnerLabel}
	if s.tracker.Shard != nil {
		sc.shard = s.tracker.Shard(owner)
	}
	w, err := s.watch(ctx, sc, string(owner))
	if err != nil {
		return nil, err
	}
	found, err := w.read(string(owner))
	if err != nil {
		return nil, err
	}
	for _, namespace := range elsewhere {
		if !s.tracker.outside(namespace) || !s.tracker.Wire.Namespaced(kind.Kind) {
			s.use(sc, index(namespace, string(owner)))
			continue
		}
		there := sc
		there.namespace = namespace
		w, err := s.watch(ctx, there, string(owner))
		if err != nil {
			return nil, err
		}
		s.use(there, index(namespace, string(owner)))
		more, err := w.read(string(owner))
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	children := make([]*plan.Live, 0, len(found))
	for _, object := range found {
		if live, ok := object.(*plan.Live); ok {
			children = append(children, live)
		}
	}
	return children, nil
}

// List reads the selected objects into list, ordered by namespace and name. A refused
// permission is the API server's error; a kind that the cluster lacks has no objects.
func (s *Session) List(ctx context.Context, list client.ObjectList, selection Selection) error {
	kind, form, err := s.tracker.identify(list)
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	if !selection.Bounded() {
		return &UnboundedError{Kind: kind.Kind}
	}
	if _, selectable := selection.Merged().Requirements(); !selectable {
		return meta.SetList(list, nil) // a selector that matches nothing cannot be written: its text matches everything
	}
	if !s.tracker.Wire.Namespaced(kind) {
		if _, err := s.tracker.Wire.Endpoint(kind, form); err != nil && !isMissing(err) {
			return err
		}
		selection.Namespace = "" // it has no meaning
	}
	if s.tracker.outside(selection.Namespace) {
		selection.Shared = false
	}
	sc, index := selection.scope(kind, form)
	if s.tracker.outside(selection.Namespace) {
		sc.namespace = selection.Namespace
	}
	w, err := s.watch(ctx, sc, index)
	if isMissing(err) {
		return meta.SetList(list, nil)
	}
	if err != nil {
		return err
	}
	objects, err := w.ordered(index)
	if err != nil {
		return err
	}
	if !selection.Uncopied {
		copyEach(objects)
	}
	list.GetObjectKind().SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return meta.SetList(list, objects)
}

// outside reports whether a namespace is not one of those that are watched by default. Reading
// there needs a separate watch.
func (t *Tracker) outside(namespace string) bool {
	return namespace != "" && len(t.Namespaces) > 0 && !slices.Contains(t.Namespaces, namespace)
}

// Get reads one object by its name, and its namespace if its kind is namespaced. It returns false if the object or
// its kind does not exist.
func (s *Session) Get(ctx context.Context, object client.Object) (bool, error) {
	kind, form, err := s.tracker.identify(object)
	if err != nil {
		return false, err
	}
	if object.GetName() == "" {
		return false, fmt.Errorf("get a %s: it has no name", kind.Kind)
	}
	sc := scope{kind: kind, form: form, name: object.GetName()}
	if s.tracker.Wire.Namespaced(kind) {
		sc.namespace = object.GetNamespace()
	}
	w, at, err := s.serving(ctx, sc)
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	found, err := w.ordered(at)
	if err != nil || len(found) == 0 {
		return false, err
	}
	return true, resourceclient.Copy(found[0].DeepCopyObject(), object)
}

// UnboundedError reports that a list would hold every object of a kind in memory.
type UnboundedError struct{ Kind string }

func (e *UnboundedError) Error() string {
	return fmt.Sprintf("a list of all %s objects would be cached; select by labels with client.MatchingLabels, or use operon.Everything", e.Kind)
}

// identify returns the kind of the objects to read, and the form in which to read them.
func (t *Tracker) identify(into runtime.Object) (schema.GroupVersionKind, resourceclient.Form, error) {
	kind, err := apiutil.GVKForObject(into, t.Scheme)
	switch into.(type) {
	case *unstructured.Unstructured, *unstructured.UnstructuredList:
		return kind, resourceclient.Loose, err
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return kind, resourceclient.Metadata, err
	}
	return kind, resourceclient.Typed, err
}

// read returns the objects that are held under an index.
func (w *watch) read(index string) ([]any, error) {
	var all []any
	for _, informer := range w.informers {
		found, err := informer.GetIndexer().ByIndex(selected, index)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// ordered returns the objects that are held under an index, by namespace and name. They must not be changed.
func (w *watch) ordered(index string) ([]runtime.Object, error) {
	found, err := w.read(index)
	if err != nil {
		return nil, err
	}
	objects := make([]runtime.Object, 0, len(found))
	for _, held := range found {
		if object, ok := held.(runtime.Object); ok {
			objects = append(objects, object)
		}
	}
	slices.SortFunc(objects, byName)
	return objects, nil
}

// copyEach replaces objects by copies, which the caller may change and retain.
func copyEach(objects []runtime.Object) {
	for i, held := range objects {
		objects[i] = held.DeepCopyObject()
	}
}

func byName(a, b runtime.Object) int {
	one, err := meta.Accessor(a)
	other, otherErr := meta.Accessor(b)
	if err != nil || otherErr != nil {
		return 0
	}
	return cmp.Or(strings.Compare(one.GetNamespace(), other.GetNamespace()), strings.Compare(one.GetName(), other.GetName()))
}
