package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/report"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// object is the object of a reconcile, and every write to it. The writes of its status are in status.go,
// those of its journal in journal.go.
type object[T client.Object] struct {
	API
	kind    schema.GroupVersionKind
	id      plan.ID
	manager string
	entry   *report.Entry
	echoes  *freshness.Echoes
	// shared means that the object may belong to another process by now, so that every write is of the version
	// that was read.
	shared bool

	// detached is the report about an object whose status belongs to other managers; nil means that its status is written.
	detached *condition.Detached

	// now is the object as the author's code may change it.
	now T
	// before is the object as it was read, or as the last write left it.
	before T
	// seen is the version up to which the reconcile has read what others wrote. That of before may be later.
	seen uint64
	// missed means that the watch delivered another client's write during an own one.
	missed bool
}

func objectOf[T client.Object](r *Reconciler[T], p *pass[T], read T) *object[T] {
	o := &object[T]{
		API: r.API, kind: r.kind, id: idOf(r.kind, p.request), manager: r.Manager, entry: p.entry, echoes: r.echoes, shared: r.Mine != nil,
		now: read, before: read.DeepCopyObject().(T), seen: freshness.FormOf(read).Version,
	}
	if r.WithoutStatus {
		o.detached = &p.known.status
	}
	return o
}

// idOf returns the ID of the object of a request.
func idOf(kind schema.GroupVersionKind, request Request) plan.ID {
	return plan.ID{GroupKind: kind.GroupKind(), Namespace: request.Namespace, Name: request.Name}
}

// deleting reports whether the object is being deleted.
func (o *object[T]) deleting() bool { return o.now.GetDeletionTimestamp() != nil }

// locked returns a patch that the API server refuses if the object has changed since.
func locked(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// patchMetadata writes the changes that edit makes in the metadata of the object, if any. The object itself, as the author's code may
// have changed it, is not overwritten. A merge patch replaces the list of finalizers, and reaches any object of the name: it is of the version that
// was read, or of the one that is read after a conflict.
func (o *object[T]) patchMetadata(ctx context.Context, edit func(client.Object)) error {
	var err error
	for range lockedTries {
		err = o.tryMetadata(ctx, edit)
		if !apierrors.IsConflict(err) || o.shared {
			break
		}
		if !o.reread(ctx) {
			err = errOvertaken
			break
		}
	}
	if err != nil {
		return fmt.Errorf("write the metadata of %s: %w", o.id, err)
	}
	return nil
}

func (o *object[T]) tryMetadata(ctx context.Context, edit func(client.Object)) error {
	edited := o.before.DeepCopyObject().(T)
	edit(edited)
	if changes, err := client.MergeFrom(o.before).Data(edited); err != nil || string(changes) == "{}" {
		return err
	}
	patch := locked(o.before)
	data, err := patch.Data(edited)
	if err != nil {
		return err
	}
	if err := o.patch(ctx, edited, client.RawPatch(patch.Type(), data)); err != nil {
		return err
	}
	o.entry.Wrote(o.id.Kind, "metadata")
	o.sees(o.before.GetResourceVersion(), edited)
	o.before.SetResourceVersion(edited.GetResourceVersion()) // the next write is over that
	for _, object := range []client.Object{o.before, o.now} {
		object.SetFinalizers(edited.GetFinalizers())
	}
	return nil
}

// errOvertaken reports that the object that was read is gone, or that its deletion or another operator's workflow has begun: what the pass
// has decided may no longer be right.
var errOvertaken = errors.New("the object has changed since it was read")

// current reads the object from the API server, only its metadata if its status belongs to other managers.
func current[T client.Object](ctx context.Context, o *object[T]) (client.Object, error) {
	if o.detached != nil {
		return o.metadata(ctx)
	}
	now, err := NewObject[T](o.kind)
	if err != nil {
		return nil, err
	}
	return now, o.Direct.Get(ctx, client.ObjectKeyFromObject(o.before), now)
}

// reread takes over the metadata that the API server has if the object is the one that was read, as far from its deletion, and with the same
// journal and values of these annotations.
func (o *object[T]) reread(ctx context.Context, annotations ...string) bool {
	now, err := current(ctx, o)
	if err != nil || now.GetUID() != o.before.GetUID() || (now.GetDeletionTimestamp() != nil) != o.deleting() {
		return false
	}
	for _, name := range annotations {
		if now.GetAnnotations()[name] != o.before.GetAnnotations()[name] {
			return false
		}
	}
	if !sameJournal(now, o.before) {
		return false
	}
	o.renew(now)
	rebase(o, now)
	return true
}

// patch writes the metadata of the object. The watch event requeues nothing if only finalizers of the runtime, or the record of external
// resources, changed, and the object has a generation: elsewhere, the watch event may contain what somebody else changed in the meantime.
func (o *object[T]) patch(ctx context.Context, written client.Object, patch client.Patch) error {
	if o.before.GetGeneration() == 0 || o.seen == 0 { // 0: the versions are not numbers
		return o.Client.Patch(ctx, written, patch, client.FieldOwner(o.manager))
	}
	write := o.echoes.Begin(o.before, freshness.Metadata, o.seen)
	defer write.Abandoned()
	if err := o.Client.Patch(ctx, written, patch, client.FieldOwner(o.manager)); err != nil {
		o.missed = write.Failed() || o.missed
		return err
	}
	o.missed = write.Wrote(freshness.FormOf(written)) || o.missed
	return nil
}

// sees records the response to a write that nobody else's write can have preceded since base.
func (o *object[T]) sees(base string, written client.Object) {
	if resourceclient.Revision(base) == o.seen {
		o.seen = freshness.FormOf(written).Version
	}
}

// renew takes over the metadata of what was written or read again. The author's code sees of it only what the runtime itself writes.
func (o *object[T]) renew(now client.Object) {
	o.before.SetLabels(now.GetLabels())
	o.before.SetAnnotations(now.GetAnnotations())
	for _, object := range []client.Object{o.before, o.now} {
		object.SetResourceVersion(now.GetResourceVersion())
		object.SetFinalizers(now.GetFinalizers())
	}
	seen := maps.Clone(o.now.GetAnnotations())
	for _, name := range []string{external.RecordAnnotation, external.ResolvedAnnotation} {
		delete(seen, name)
		if value, set := now.GetAnnotations()[name]; set {
			seen = with(seen, map[string]string{name: value})
		}
	}
	o.now.SetAnnotations(seen)
}

// metadata reads the object's metadata from the API server.
func (o *object[T]) metadata(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(o.kind)
	return now, o.Direct.Get(ctx, client.ObjectKeyFromObject(o.before), now)
}

// gone queries the API server whether the object was deleted, or is being deleted.
func (o *object[T]) gone(ctx context.Context) (bool, error) {
	now, err := o.present(ctx)
	return err == nil && (now == nil || now.GetDeletionTimestamp() != nil), err
}

// holds queries the API server whether the object exists and has one of these finalizers.
func (o *object[T]) holds(ctx context.Context, finalizers ...string) (bool, error) {
	now, err := o.present(ctx)
	if err != nil || now == nil {
		return false, err
	}
	return slices.ContainsFunc(finalizers, func(name string) bool { return controllerutil.ContainsFinalizer(now, name) }), nil
}

// present returns the object as the API server has it, or nil if it does not exist, or another one has its name.
func (o *object[T]) present(ctx context.Context) (client.Object, error) {
	now, err := o.metadata(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return o.now, nil // an identity that may list and watch need not be allowed to get
	case err != nil:
		return nil, fmt.Errorf("check whether %s still exists: %w", o.id, err)
	case now.GetUID() != o.now.GetUID():
		return nil, nil
	}
	return now, nil
}

// unchanged returns errOvertaken unless the API server has the object as it was read, as far from its deletion, and with the same values of
// these annotations.
func unchanged[T client.Object](ctx context.Context, o *object[T], annotations ...string) error {
	now, err := o.present(ctx)
	if err != nil {
		return err
	}
	if now == nil || (now.GetDeletionTimestamp() != nil) != o.deleting() {
		return errOvertaken
	}
	for _, name := range annotations {
		if now.GetAnnotations()[name] != o.before.GetAnnotations()[name] {
			return errOvertaken
		}
	}
	return nil
}

// unlessGone returns the error of a write to the object's status, or nil if the object was
// deleted in the meantime. The API server returns "not found" for other reasons too.
func (o *object[T]) unlessGone(ctx context.Context, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	if gone, _ := o.gone(ctx); gone {
		return nil
	}
	return fmt.Errorf("write the status of %s, which exists; does its CRD have the subresource status? %w", o.id, err)
}
