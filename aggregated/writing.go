package aggregated

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// dry reports whether nothing is to be changed.
func dry(dryRun []string) bool { return slices.Contains(dryRun, metav1.DryRunAll) }

// typed is an object as its own type.
func (c *common[T]) typed(object runtime.Object) (T, error) {
	one, ok := object.(T)
	if !ok {
		return one, apierrors.NewInternalError(fmt.Errorf("a %T is no %s", object, c.kind.Kind))
	}
	return one, nil
}

// reviewing is the storage of a kind whose objects are questions.
type reviewing[T client.Object] struct {
	common[T]
	creator Creator[T]
}

// Create implements rest.Creater.
func (r *reviewing[T]) Create(ctx context.Context, asked runtime.Object, valid rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	question, err := r.typed(asked)
	if err != nil {
		return nil, err
	}
	if valid != nil {
		if err := valid(ctx, question.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	answer, err := r.creator.Create(ctx, question)
	if err != nil {
		return nil, r.told(err, question.GetName())
	}
	return answer, nil
}

// creating makes objects.
type creating[T client.Object] struct {
	of      *reading[T]
	creator Creator[T]
}

// Create implements rest.Creater.
func (c *creating[T]) Create(ctx context.Context, wanted runtime.Object, valid rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	object, err := c.of.typed(wanted)
	if err != nil {
		return nil, err
	}
	if err := c.of.prepare(ctx, object); err != nil {
		return nil, err
	}
	if valid != nil {
		if err := valid(ctx, object.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if dry(options.DryRun) {
		return c.wouldCreate(ctx, object)
	}
	made, err := c.creator.Create(ctx, object)
	if err != nil {
		return nil, c.of.told(err, object.GetName())
	}
	return made, nil
}

// wouldCreate is the end of a dry run.
func (c *creating[T]) wouldCreate(ctx context.Context, object T) (runtime.Object, error) {
	switch _, err := c.of.get(ctx, object.GetName()); {
	case err == nil:
		return nil, c.of.told(ErrExists, object.GetName())
	case !apierrors.IsNotFound(err):
		return nil, err
	}
	return object, nil
}

// prepare gives an object what each has that is made.
func (c *common[T]) prepare(ctx context.Context, object T) error {
	namespace := rest.ExpectedNamespaceForScope(request.NamespaceValue(ctx), c.NamespaceScoped())
	if err := rest.EnsureObjectNamespaceMatchesRequestNamespace(namespace, object); err != nil {
		return err
	}
	rest.FillObjectMetaSystemFields(object)
	if object.GetName() == "" && object.GetGenerateName() != "" {
		object.SetName(names.SimpleNameGenerator.GenerateName(object.GetGenerateName()))
	}
	at := field.NewPath("metadata", "name")
	if object.GetName() == "" {
		return apierrors.NewInvalid(c.kind.GroupKind(), "", field.ErrorList{field.Required(at, "name or generateName is required")})
	}
	if wrong := content.IsPathSegmentName(object.GetName()); len(wrong) > 0 {
		return apierrors.NewInvalid(c.kind.GroupKind(), object.GetName(), field.ErrorList{field.Invalid(at, object.GetName(), wrong[0])})
	}
	return nil
}

// updating changes objects. Without a creator it makes none.
type updating[T client.Object] struct {
	of      *reading[T]
	updater Updater[T]
	creator *creating[T] // nil for none
}

// Update implements rest.Updater.
func (u *updating[T]) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, mayCreate rest.ValidateObjectFunc, mayUpdate rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	is, err := u.of.get(ctx, name)
	if apierrors.IsNotFound(err) && force && u.creator != nil {
		return u.create(ctx, info, mayCreate, options)
	}
	if err != nil {
		return nil, false, err
	}
	if err := u.of.meets(is, info.Preconditions()); err != nil {
		return nil, false, err
	}
	wanted, err := u.wanted(ctx, is, info)
	if err != nil {
		return nil, false, err
	}
	if mayUpdate != nil {
		if err := mayUpdate(ctx, wanted.DeepCopyObject(), is.DeepCopyObject()); err != nil {
			return nil, false, err
		}
	}
	if dry(options.DryRun) {
		return wanted, false, nil
	}
	made, err := u.updater.Update(ctx, is, wanted)
	if err != nil {
		return nil, false, u.of.told(err, name)
	}
	return made, false, nil
}

// wanted is what an update makes of an object.
func (u *updating[T]) wanted(ctx context.Context, is T, info rest.UpdatedObjectInfo) (T, error) {
	updated, err := info.UpdatedObject(ctx, is.DeepCopyObject())
	if err != nil {
		return is, err
	}
	wanted, err := u.of.typed(updated)
	if err != nil {
		return is, err
	}
	if version := wanted.GetResourceVersion(); version != "" && is.GetResourceVersion() != "" && version != is.GetResourceVersion() {
		return is, u.of.told(fmt.Errorf("%w: the resourceVersion is %s, not %s", ErrConflict, is.GetResourceVersion(), version), is.GetName())
	}
	if wanted.GetName() != is.GetName() || wanted.GetNamespace() != is.GetNamespace() {
		return is, apierrors.NewBadRequest(fmt.Sprintf("%s %s cannot become %s", u.of.kind.Kind, client.ObjectKeyFromObject(is), client.ObjectKeyFromObject(wanted)))
	}
	wanted.SetUID(is.GetUID())
	wanted.SetCreationTimestamp(is.GetCreationTimestamp())
	return wanted, nil
}

// create makes what is applied and not there.
func (u *updating[T]) create(ctx context.Context, info rest.UpdatedObjectInfo, valid rest.ValidateObjectFunc, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	wanted, err := info.UpdatedObject(ctx, u.of.New())
	if err != nil {
		return nil, false, err
	}
	made, err := u.creator.Create(ctx, wanted, valid, &metav1.CreateOptions{DryRun: options.DryRun, FieldManager: options.FieldManager})
	return made, err == nil, err
}

// meets reports whether an object is the one that is meant.
func (c *common[T]) meets(object T, means *metav1.Preconditions) error {
	if means == nil {
		return nil
	}
	if means.UID != nil && *means.UID != object.GetUID() {
		return c.told(fmt.Errorf("%w: the UID is %s, not %s", ErrConflict, object.GetUID(), *means.UID), object.GetName())
	}
	if means.ResourceVersion != nil && *means.ResourceVersion != object.GetResourceVersion() {
		return c.told(fmt.Errorf("%w: the resourceVersion is %s, not %s", ErrConflict, object.GetResourceVersion(), *means.ResourceVersion), object.GetName())
	}
	return nil
}

// deleting deletes objects.
type deleting[T client.Object] struct {
	of      *reading[T]
	deleter Deleter[T]
}

// Delete implements rest.GracefulDeleter.
func (d *deleting[T]) Delete(ctx context.Context, name string, valid rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	object, err := d.of.get(ctx, name)
	if err != nil {
		return nil, false, err
	}
	return object, true, d.delete(ctx, object, valid, options)
}

func (d *deleting[T]) delete(ctx context.Context, object T, valid rest.ValidateObjectFunc, options *metav1.DeleteOptions) error {
	if err := d.of.meets(object, options.Preconditions); err != nil {
		return err
	}
	if valid != nil {
		if err := valid(ctx, object.DeepCopyObject()); err != nil {
			return err
		}
	}
	if dry(options.DryRun) {
		return nil
	}
	return d.of.told(d.deleter.Delete(ctx, object), object.GetName())
}

// DeleteCollection implements rest.CollectionDeleter. What is gone in the meantime is as good as deleted.
func (d *deleting[T]) DeleteCollection(ctx context.Context, valid rest.ValidateObjectFunc, options *metav1.DeleteOptions, selects *internalversion.ListOptions) (runtime.Object, error) {
	list, err := d.of.List(ctx, selects)
	if err != nil {
		return nil, err
	}
	var failed []error
	err = meta.EachListItem(list, func(item runtime.Object) error {
		object, err := d.of.typed(item)
		if err == nil {
			err = d.delete(request.WithNamespace(ctx, object.GetNamespace()), object, valid, options)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			failed = append(failed, err)
		}
		return nil
	})
	return list, joined(append(failed, err))
}

// joined returns the first API error with the messages of all. Clients would receive any other error as an internal one.
func joined(all []error) error {
	err := errors.Join(all...)
	var first apierrors.APIStatus
	if !errors.As(err, &first) {
		return err
	}
	status := first.Status()
	status.Message = err.Error()
	return &apierrors.StatusError{ErrStatus: status}
}
