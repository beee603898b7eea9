package aggregated

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/table"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// User returns the user that sent the request, as the cluster knows it. It is nil outside of requests.
func User(ctx context.Context) user.Info {
	who, _ := request.UserFrom(ctx)
	return who
}

// reading is the storage of a kind that can be read.
type reading[T client.Object] struct {
	common[T]
	reader Reader[T]
}

// Get implements rest.Getter.
func (r *reading[T]) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	object, err := r.get(ctx, name)
	if err != nil {
		return nil, err // an empty T is no nil
	}
	return object, nil
}

func (r *reading[T]) get(ctx context.Context, name string) (T, error) {
	object, err := r.reader.Get(ctx, client.ObjectKey{Namespace: request.NamespaceValue(ctx), Name: name})
	return object, r.told(err, name)
}

// told converts an error into a Kubernetes API error.
func (c *common[T]) told(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return apierrors.NewNotFound(c.group, name)
	case errors.Is(err, ErrExists):
		return apierrors.NewAlreadyExists(c.group, name)
	case errors.Is(err, ErrConflict):
		return apierrors.NewConflict(c.group, name, err)
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return err
	}
	return apierrors.NewInternalError(err)
}

// NewList implements rest.Lister.
func (r *reading[T]) NewList() runtime.Object { return r.list.DeepCopyObject() }

// List implements rest.Lister.
func (r *reading[T]) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	objects, err := r.reader.List(ctx, request.NamespaceValue(ctx))
	if err != nil {
		return nil, r.told(err, "")
	}
	selects := selectionOf(options)
	var items []runtime.Object
	for _, object := range objects {
		if selects.matches(object) {
			items = append(items, object)
		}
	}
	list := r.NewList()
	return list, meta.SetList(list, items)
}

// selection is what a client wants to see.
type selection struct {
	labels labels.Selector
	fields fields.Selector
}

func selectionOf(options *internalversion.ListOptions) selection {
	s := selection{labels.Everything(), fields.Everything()}
	if options != nil && options.LabelSelector != nil {
		s.labels = options.LabelSelector
	}
	if options != nil && options.FieldSelector != nil {
		s.fields = options.FieldSelector
	}
	return s
}

// matches knows the fields that every kind has: others are refused before.
func (s selection) matches(object client.Object) bool {
	return s.labels.Matches(labels.Set(object.GetLabels())) && s.fields.Matches(fields.Set{
		"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace(),
	})
}

// ConvertToTable implements rest.TableConvertor.
func (c *common[T]) ConvertToTable(_ context.Context, object, _ runtime.Object) (*metav1.Table, error) {
	shown := &metav1.Table{ColumnDefinitions: c.columns()}
	if one, ok := object.(T); ok {
		shown.Rows = append(shown.Rows, c.row(one))
		shown.ResourceVersion = one.GetResourceVersion()
		return shown, nil
	}
	if list, err := meta.ListAccessor(object); err == nil {
		shown.ResourceVersion, shown.Continue, shown.RemainingItemCount = list.GetResourceVersion(), list.GetContinue(), list.GetRemainingItemCount()
	}
	err := meta.EachListItem(object, func(item runtime.Object) error {
		if one, ok := item.(T); ok {
			shown.Rows = append(shown.Rows, c.row(one))
		}
		return nil
	})
	return shown, err
}

func (c *common[T]) columns() []metav1.TableColumnDefinition {
	all := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}}
	for _, column := range c.resource.Columns {
		definition := metav1.TableColumnDefinition{Name: column.Name, Type: column.Type}
		if definition.Type == "" {
			definition.Type = "string"
		}
		if column.Wide {
			definition.Priority = 1
		}
		all = append(all, definition)
	}
	return append(all, metav1.TableColumnDefinition{Name: "Age", Type: "string"})
}

func (c *common[T]) row(object T) metav1.TableRow {
	cells := []any{object.GetName()}
	for _, column := range c.resource.Columns {
		cells = append(cells, column.Of(object))
	}
	cells = append(cells, table.ConvertToHumanReadableDateType(object.GetCreationTimestamp()))
	return metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: object}}
}
