package reconcile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/providers"
)

// ExternalFinalizer holds an object while resources outside the cluster exist that have to be deleted
// before it. The write that sets it also marks what is about to be created.
const ExternalFinalizer = "operon.dev/external"

// outside is the result for resources outside the cluster.
type outside struct {
	known map[string][]external.Known[any] // by kind
	deeds []providers.Deed
}

// external observes resources outside the cluster, and creates, changes and deletes them as the
// author declares. If the state of one is unknown, children are not changed. If one is not ready yet, they are, and
// it is reported together with the children.
func (r *Reconciler[T]) external(ctx context.Context, p *pass[T]) (outside, outcome.Outcome, error) {
	if !reachesOut(r.Roles, p.object) {
		return outside{}, outcome.Done(), nil
	}
	task, o, err := externalTask(ctx, r.Roles, p)
	if err != nil || o.Kind() != outcome.KindDone {
		return outside{}, o, err
	}
	task.Rehearse = r.DryRun != nil
	if p.object.deleting() && !task.Policy.Orphan && !task.Rehearse { // a stale cache may still show the finalizer: see cleanUp
		if waits, err := p.object.holds(ctx, ExternalFinalizer); err != nil || !waits {
			return outside{}, outcome.Stop(timing.lookAgain), err
		}
	}
	task.Write = func(ctx context.Context, record *external.Record) error {
		return p.object.writeRecord(ctx, record, len(task.Declared) > 0)
	}
	if !p.object.deleting() { // otherwise this has been checked
		task.Confirm = func(ctx context.Context) error {
			return unchanged(ctx, p.object, external.RecordAnnotation, external.PolicyAnnotation, PausedAnnotation)
		}
	}
	result := r.keeper.Keep(ctx, task)
	found := outside{result.Known, result.Deeds}
	for _, deed := range result.Deeds {
		p.entry.External(deed)
		p.entry.Events.External(deed)
	}
	if apierrors.IsNotFound(result.WriteErr) {
		if len(result.Deeds) > 0 { // an object that is gone gets no report
			p.entry.Events.Send(r.Events, p.object.now)
		}
		return found, outcome.Stop(0), nil
	}
	if result.WriteErr != nil {
		return found, outcome.Done(), result.WriteErr
	}
	o = result.Outcome
	if result.CallErr != nil {
		o = o.With(fmt.Errorf("external: %w", result.CallErr))
	}
	if !result.Unknown && !p.object.deleting() {
		o = o.Aside()
	}
	return found, o, nil
}

// reachesOut reports whether something exists outside, or may exist.
func reachesOut[T client.Object](roles author.Roles[T], object *object[T]) bool {
	held := controllerutil.ContainsFinalizer(object.now, ExternalFinalizer)
	if object.deleting() {
		return held // nothing is created before it is set
	}
	return roles.ComposeExternal != nil || held || object.now.GetAnnotations()[external.RecordAnnotation] != ""
}

// externalTask is what the author, the record and the user want to be done.
func externalTask[T client.Object](ctx context.Context, roles author.Roles[T], p *pass[T]) (providers.Task, outcome.Outcome, error) {
	object, deleting := p.object.now, p.object.deleting()
	task := providers.Task{Owner: p.request.NamespacedName, UID: object.GetUID()}
	annotations := object.GetAnnotations()
	var err error
	if task.Record, err = external.ParseRecord(annotations[external.RecordAnnotation], string(task.UID)); err != nil {
		return task, outcome.Done(), err
	}
	if task.Policy, err = external.PolicyOf(annotations[external.PolicyAnnotation]); err != nil {
		return task, outcome.Done(), &author.InvalidExternalError{Err: err}
	}
	if task.Said, err = external.ParseResolved(annotations[external.ResolvedAnnotation]); err != nil {
		return task, outcome.Done(), &author.InvalidExternalError{Err: err}
	}
	if roles.ComposeExternal == nil || deleting && task.Policy.Orphan {
		return task, outcome.Done(), nil // what is left behind need not be reached
	}
	composition := author.NewExternalComposition(object, p.reads)
	if err := roles.ComposeExternal(ctx, object, composition); err != nil {
		return task, outcome.Done(), err
	}
	declared, err := author.DeclaredExternal(composition)
	if err != nil {
		return task, outcome.Done(), err
	}
	task.Kinds = declared.Kinds
	if !deleting {
		task.Declared = declared.Declared
	}
	p.announce("ComposeExternal", declared.Events)
	return task, declared.Outcome(), nil
}

// writeRecord writes the record, and with it the finalizer, if the object is as it was read: of two
// operators that mark the same resource, one fails. If others changed the object and not the record, it is
// written again, because what is known now may not be stored anywhere else.
func (o *object[T]) writeRecord(ctx context.Context, record *external.Record, declared bool) error {
	text, err := record.Text()
	if err != nil {
		return err
	}
	for range lockedTries {
		err = o.tryRecord(ctx, text, declared)
		if !apierrors.IsConflict(err) || !o.reread(ctx, external.RecordAnnotation) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("record the external resources of %s: %w", o.id, err)
	}
	o.entry.Wrote(o.id.Kind, "metadata")
	return nil
}

func (o *object[T]) tryRecord(ctx context.Context, text string, declared bool) error {
	edited := o.before.DeepCopyObject().(T)
	annotations := with(edited.GetAnnotations(), map[string]string{external.RecordAnnotation: text})
	delete(annotations, external.ResolvedAnnotation) // the statement has been applied
	switch {
	case text != "":
		controllerutil.AddFinalizer(edited, ExternalFinalizer)
	case !declared:
		delete(annotations, external.RecordAnnotation)
		controllerutil.RemoveFinalizer(edited, ExternalFinalizer)
	default:
		delete(annotations, external.RecordAnnotation) // the next resource will be created
	}
	edited.SetAnnotations(annotations)
	if err := o.patch(ctx, edited, locked(o.before)); err != nil {
		return err
	}
	o.sees(o.before.GetResourceVersion(), edited)
	o.renew(edited)
	return nil
}
