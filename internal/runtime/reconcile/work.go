package reconcile

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// Reasons of the Ready condition when work in steps cannot continue. Package durable has the reasons for
// work that continues, or is over.
const (
	// ReasonStepsChanged: the code has other steps than those that were begun.
	ReasonStepsChanged = "StepsChanged"
	// ReasonJournalUnreadable: the journal was written by a newer operator, or is damaged.
	ReasonJournalUnreadable = "JournalUnreadable"
	// ReasonJournalLost: the kind has no field for the journal.
	ReasonJournalLost = "JournalLost"
)

// work runs the author's steps. Their outcome does not end the reconcile: children are reconciled in the meantime.
func (r *Reconciler[T]) work(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if r.Roles.RunWorkflow == nil {
		return outcome.Done(), nil
	}
	why := ""
	if r.Roles.Canceled != nil {
		why = r.Roles.Canceled(p.object.now)
	}
	return r.carry(ctx, p, r.Roles.RunWorkflow, why)
}

// carry calls the work, and advances it as far as possible now. The report writes what is not written
// yet.
func (r *Reconciler[T]) carry(ctx context.Context, p *pass[T], work func(context.Context, T, *durable.Run) error, cancel string) (outcome.Outcome, error) {
	object := p.object
	field := journalOf(object.now)
	if field == nil {
		return outcome.Done(), errNoJournal(object.now)
	}
	unwanted, end := r.objects.beginWork(p.known, object.now.GetUID())
	defer end()
	run := durable.New(durable.Config{
		Object:  string(object.now.GetUID()),
		Journal: *field,
		Save:    object.saveJournal,
		Confirm: object.confirm,
		Hold:    object.holdSteps,
		Release: object.releaseSteps,
		Cancel:  cancel,
		Stop:    unwanted,
		Clock:   r.Clock,
		Reader:  author.NewReader(object.now, p.reads),
		Client:  r.Direct,
		REST:    r.REST,
	})
	o, err := run.Carry(ctx, func(ctx context.Context, run *durable.Run) error { return work(ctx, object.now, run) })
	if errors.Is(err, durable.ErrSuperseded) {
		return outcome.Stop(timing.supersededRetry), nil // this reconcile has nothing to report either
	}
	if !is[*journal.UnreadableError](err) && !is[*LostJournalError](err) { // what is done must not be done again, whatever failed after it
		*field = run.Journal()
	}
	return o, err
}

// unwanted reports whether the work of a composer on an object is no longer wanted.
func unwanted[T client.Object](roles author.Roles[T], object client.Object) bool {
	if roles.RunWorkflow == nil {
		return false
	}
	typed, _ := object.(T)
	return object.GetDeletionTimestamp() != nil || roles.Canceled != nil && roles.Canceled(typed) != ""
}

// workMistake returns the reason of an error that prevents work in steps from continuing, or nothing.
func workMistake(err error) string {
	switch {
	case is[*journal.ChangedError](err):
		return ReasonStepsChanged
	case is[*journal.UnreadableError](err):
		return ReasonJournalUnreadable
	case is[*LostJournalError](err):
		return ReasonJournalLost
	}
	if final, ok := errors.AsType[staller](err); ok {
		return final.Stalled()
	}
	return ""
}

// staller is an error that only a user can resolve. It has the reason for the condition.
type staller interface {
	error
	Stalled() (reason string)
}
