package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// StepsFinalizer holds an object while there are steps of work on it that may have to be undone.
// Objects without such steps do not get it.
const StepsFinalizer = "operon.dev/steps"

// Worker does work on an object in steps, each of them once, whatever happens to the operator
// meanwhile. A composer may be one. The object's status needs the field
//
//	Journal *journal.Journal `json:"journal,omitempty"`
type Worker[T client.Object] interface {
	// Work takes the steps by durable.Do. It is called in each reconcile, before Compose, and may
	// set fields of object's status; package durable tells what else it has to know. Children are
	// kept while it goes on.
	Work(ctx context.Context, object T, run *durable.Run) error
}

// Canceller is a Worker that tells by the object whether its work is not wanted any more. The
// deletion of the object is always taken for that.
type Canceller[T client.Object] interface {
	// Cancelled says why the work is not wanted any more; nothing while it is.
	Cancelled(object T) (why string)
}

// supersededRetry is when an object is looked at again on which another operator works.
const supersededRetry = 200 * time.Millisecond

// lockedTries is how often a write is tried that others get in the way of.
const lockedTries = 5

// work lets the author take steps. How far that came ends nothing: children are kept meanwhile.
func (r *Reconciler[T]) work(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	worker, ok := any(r.Composer).(Worker[T])
	if !ok {
		return outcome.Done(), nil
	}
	why := ""
	if canceller, ok := worker.(Canceller[T]); ok {
		why = canceller.Cancelled(p.object)
	}
	return r.carry(ctx, p, worker.Work, why)
}

// undo takes back what the work has done on an object that is being deleted.
func (r *Reconciler[T]) undo(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if p.object.GetDeletionTimestamp() == nil || !controllerutil.ContainsFinalizer(p.object, StepsFinalizer) {
		return outcome.Done(), nil
	}
	work := func(context.Context, T, *durable.Run) error { return nil }
	if worker, ok := any(r.Composer).(Worker[T]); ok {
		work = worker.Work
	}
	o, err := r.carry(ctx, p, work, "the object is being deleted")
	if err != nil || p.over {
		return o, err
	}
	if j := *journalOf(p.object); j != nil && !j.Phase.Over() {
		return o, nil
	}
	// It may also have been held for a step that never began.
	return outcome.Done(), r.holdSteps(ctx, p, controllerutil.RemoveFinalizer)
}

// carry calls the work, and brings it as far as it goes now. The report writes down what is not
// yet.
func (r *Reconciler[T]) carry(ctx context.Context, p *pass[T], work func(context.Context, T, *durable.Run) error, cancel string) (outcome.Outcome, error) {
	field := journalOf(p.object)
	if field == nil {
		return outcome.Done(), errNoJournal(p.object)
	}
	unwanted, end := r.working.begin(p.request.NamespacedName)
	defer end()
	run := durable.New(durable.Config{
		Object:  string(p.object.GetUID()),
		Journal: *field,
		Save: func(ctx context.Context, j *journal.Journal) (*journal.Journal, error) {
			return r.saveJournal(ctx, p, j)
		},
		Confirm: func(ctx context.Context) error { return r.confirm(ctx, p) },
		Hold:    func(ctx context.Context) error { return r.holdSteps(ctx, p, controllerutil.AddFinalizer) },
		Release: func(ctx context.Context) error { return r.holdSteps(ctx, p, controllerutil.RemoveFinalizer) },
		Cancel:  cancel,
		Stop:    unwanted,
		Clock:   r.Clock,
		Reader:  &reading{reads: p.reads, owner: p.object},
		Client:  r.Direct,
		REST:    r.REST,
	})
	o, err := run.Carry(ctx, func(ctx context.Context, run *durable.Run) error { return work(ctx, p.object, run) })
	if errors.Is(err, durable.ErrSuperseded) {
		p.over = true // nor has this pass anything to say
		return outcome.Retry(supersededRetry, "", ""), nil
	}
	if err == nil {
		*field = run.Journal()
	}
	return o, err
}

// saveJournal writes a journal down, on condition that the one which is there is that of the pass.
func (r *Reconciler[T]) saveJournal(ctx context.Context, p *pass[T], j *journal.Journal) (*journal.Journal, error) {
	if journal.Same(j, *journalOf(p.before)) {
		return j, r.confirm(ctx, p) // as of a step that is being undone, which a crash interrupted
	}
	var written T
	err := r.locked(ctx, p, func() error {
		written = p.before.DeepCopyObject().(T)
		*journalOf(written) = j.DeepCopy()
		return r.patchStatus(ctx, p, written)
	})
	if failed := r.unlessGone(ctx, p, err); failed != nil {
		return nil, fmt.Errorf("write the journal of %s: %w", r.self(p.object), failed)
	}
	if err != nil {
		return nil, durable.ErrSuperseded // by the end of the object
	}
	saved := *journalOf(written)
	if saved == nil || saved.ID != j.ID || len(saved.Steps) != len(j.Steps) {
		return nil, &LostJournalError{Kind: r.kind.Kind}
	}
	r.wrote(p, r.kind.Kind, "status")
	p.before = written
	*journalOf(p.object) = saved.DeepCopy()
	p.object.SetResourceVersion(written.GetResourceVersion())
	return saved, nil
}

// LostJournalError says that a kind's CRD has no place for the journal.
type LostJournalError struct{ Kind string }

func (e *LostJournalError) Error() string {
	return fmt.Sprintf("the CustomResourceDefinition of %s drops status.journal, without which no step can be done once: generate it again from the Go type, and apply it", e.Kind)
}

// holdSteps sets or lifts the finalizer.
func (r *Reconciler[T]) holdSteps(ctx context.Context, p *pass[T], edit func(client.Object, string) bool) error {
	if !edit(p.object, StepsFinalizer) {
		return nil
	}
	err := r.locked(ctx, p, func() error {
		written := p.before.DeepCopyObject().(T)
		if !edit(written, StepsFinalizer) {
			return nil
		}
		if err := r.Client.Patch(ctx, written, lockOn(p.before), client.FieldOwner(r.Manager)); err != nil {
			return err
		}
		r.wrote(p, r.kind.Kind, "metadata")
		p.before = written
		return nil
	})
	if apierrors.IsNotFound(err) || errors.Is(err, durable.ErrSuperseded) && p.object.GetDeletionTimestamp() != nil {
		return nil // the last finalizer of an object that was deleted
	}
	if err != nil {
		return fmt.Errorf("write the finalizer %s of %s: %w", StepsFinalizer, r.self(p.object), err)
	}
	p.object.SetResourceVersion(p.before.GetResourceVersion())
	return nil
}

// lockOn is a patch that is refused where the object is another one than it was.
func lockOn(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// locked writes under the condition that nobody did since the pass read, unless that left the
// journal as it was.
func (r *Reconciler[T]) locked(ctx context.Context, p *pass[T], write func() error) error {
	var err error
	for range lockedTries {
		if err = write(); !apierrors.IsConflict(err) || journalOf(p.before) == nil {
			return err
		}
		if err := r.confirm(ctx, p); err != nil {
			return err
		}
	}
	return err
}

// confirm tells whether the journal is still that of the pass. Writes then build on the object
// as it is now.
func (r *Reconciler[T]) confirm(ctx context.Context, p *pass[T]) error {
	now, err := r.newObject()
	if err != nil {
		return err
	}
	err = r.Direct.Get(ctx, p.request.NamespacedName, now)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the journal of %s: %w", r.self(p.object), err)
	}
	if err != nil || now.GetUID() != p.object.GetUID() || !journal.Same(*journalOf(now), *journalOf(p.before)) {
		return durable.ErrSuperseded
	}
	p.before.SetResourceVersion(now.GetResourceVersion())
	p.before.SetFinalizers(now.GetFinalizers())
	return nil
}
