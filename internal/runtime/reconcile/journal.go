package reconcile

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// StepsFinalizer holds an object while it has steps of work that may have to be undone.
// Objects without such steps do not get it.
const StepsFinalizer = "operon.dev/steps"

// lockedTries is the maximum number of attempts for a write that conflicts with other writes to the object.
const lockedTries = 5

// saveJournal writes a journal, on condition that the stored journal is still the one that the reconcile read.
func (o *object[T]) saveJournal(ctx context.Context, j *journal.Journal) (*journal.Journal, error) {
	if journal.Same(j, *journalOf(o.before)) {
		return j, o.confirm(ctx) // for example, if a crash interrupted the undoing of a step
	}
	var written T
	err := o.writeLocked(ctx, func() error {
		written = o.before.DeepCopyObject().(T)
		*journalOf(written) = j.DeepCopy()
		return o.patchStatus(ctx, written)
	})
	if failed := o.unlessGone(ctx, err); failed != nil {
		return nil, fmt.Errorf("write the journal of %s: %w", o.id, failed)
	}
	if err != nil {
		return nil, durable.ErrSuperseded // by the end of the object
	}
	saved := *journalOf(written)
	if saved == nil || saved.ID != j.ID || len(saved.Steps) != len(j.Steps) {
		return nil, &LostJournalError{Kind: o.id.Kind}
	}
	o.entry.Wrote(o.id.Kind, "status")
	o.before = written
	*journalOf(o.now) = saved.DeepCopy()
	o.now.SetResourceVersion(written.GetResourceVersion())
	return saved, nil
}

// keepJournal writes the journal, if it changed, for a reconcile whose report was not written: a step that is done must not run again.
func keepJournal[T client.Object](ctx context.Context, o *object[T]) error {
	field := journalOf(o.now)
	if field == nil || *field == nil || journal.Same(*field, *journalOf(o.before)) || o.deleting() && len(o.now.GetFinalizers()) == 0 {
		return nil
	}
	_, err := o.saveJournal(ctx, *field)
	if errors.Is(err, durable.ErrSuperseded) {
		return nil // the journal of another operator, or of another object, counts
	}
	return err
}

// LostJournalError reports that a kind's CRD has no field for the journal.
type LostJournalError struct{ Kind string }

func (e *LostJournalError) Error() string {
	return fmt.Sprintf("the CRD of %s drops status.journal, which durable steps need: generate the CRD from the Go type, and apply it", e.Kind)
}

// editStepsFinalizer adds or removes the finalizer of the object's steps, as edit does.
func (o *object[T]) editStepsFinalizer(ctx context.Context, edit func(client.Object, string) bool) error {
	if !edit(o.now, StepsFinalizer) {
		return nil
	}
	err := o.writeLocked(ctx, func() error {
		written := o.before.DeepCopyObject().(T)
		if !edit(written, StepsFinalizer) {
			return nil
		}
		if err := o.patch(ctx, written, locked(o.before)); err != nil {
			return err
		}
		o.entry.Wrote(o.id.Kind, "metadata")
		o.sees(o.before.GetResourceVersion(), written)
		o.before = written
		return nil
	})
	if apierrors.IsNotFound(err) || errors.Is(err, durable.ErrSuperseded) && o.deleting() {
		return nil // the last finalizer of an object that was deleted
	}
	if err != nil {
		return fmt.Errorf("write the finalizer %s of %s: %w", StepsFinalizer, o.id, err)
	}
	o.now.SetResourceVersion(o.before.GetResourceVersion())
	return nil
}

func (o *object[T]) holdSteps(ctx context.Context) error {
	return o.editStepsFinalizer(ctx, controllerutil.AddFinalizer)
}

func (o *object[T]) releaseSteps(ctx context.Context) error {
	return o.editStepsFinalizer(ctx, controllerutil.RemoveFinalizer)
}

// writeLocked writes on condition that no other client has written the object since it was read, unless that write left the
// object itself and its journal unchanged. A conflict is returned if another process may own the object by now, and no journal shows that.
func (o *object[T]) writeLocked(ctx context.Context, write func() error) error {
	var err error
	for range lockedTries {
		if err = write(); !apierrors.IsConflict(err) || o.shared && journalOf(o.before) == nil {
			return err
		}
		if err := o.confirm(ctx); err != nil {
			return err
		}
	}
	return err
}

// confirm returns durable.ErrSuperseded if the journal is no longer the one that the reconcile read, and errOvertaken if an object without
// a journal is not. Later writes are based on the current object.
func (o *object[T]) confirm(ctx context.Context) error {
	now, err := current(ctx, o)
	switch same := err == nil && now.GetUID() == o.now.GetUID() && sameJournal(now, o.before); {
	case !same && journalOf(o.before) == nil:
		return errOvertaken
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("read the journal of %s: %w", o.id, err)
	case !same:
		return durable.ErrSuperseded
	}
	o.before.SetResourceVersion(now.GetResourceVersion())
	o.before.SetFinalizers(now.GetFinalizers())
	rebase(o, now)
	return nil
}

// sameJournal reports whether two states of an object have the same journal, or their kind has none.
func sameJournal(now, before any) bool {
	known := journalOf(before)
	return known == nil || journal.Same(*journalOf(now), *known)
}

// journalOf returns the field Status.Journal of object, a pointer to a struct, or nil if it has none.
func journalOf(object any) **journal.Journal {
	value := reflect.Indirect(reflect.ValueOf(object))
	if value.Kind() != reflect.Struct {
		return nil
	}
	status := value.FieldByName("Status")
	if !status.IsValid() || status.Kind() != reflect.Struct {
		return nil
	}
	field := status.FieldByName("Journal")
	if !field.IsValid() || !field.CanAddr() {
		return nil
	}
	found, _ := field.Addr().Interface().(**journal.Journal)
	return found
}

func errNoJournal(object any) error {
	return fmt.Errorf("%T: Status needs the field\n\tJournal *journal.Journal `json:\"journal,omitempty\"`\nbecause its composer has the method RunWorkflow", object)
}

// checkWorker returns an error if a kind lacks what its composer's roles need.
func checkWorker[T client.Object](roles author.Roles[T], object T) error {
	if roles.RunWorkflow != nil && journalOf(object) == nil {
		return errNoJournal(object)
	}
	return nil
}

// dropSteps clears the messages in the journal of an object's steps.
func dropSteps(object any) {
	if field := journalOf(object); field != nil && *field != nil {
		(*field).DropMessages()
	}
}
