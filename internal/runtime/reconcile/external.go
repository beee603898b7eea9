package reconcile

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/providers"
)

// ExternalFinalizer holds an object while there is something outside of the cluster that has to go
// before it. The write that sets it also marks what is about to be made.
const ExternalFinalizer = "operon.dev/external"

// external observes what is kept outside of the cluster, and makes, changes and deletes it as the
// author declares. What is not known keeps children from being touched; what is not ready yet does
// not, and is told together with what becomes of them.
func (r *Reconciler[T]) external(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if !r.reachesOut(p) {
		return outcome.Done(), nil
	}
	task, o, err := r.task(ctx, p)
	if err != nil || o.Kind() != outcome.KindDone {
		return o, err
	}
	task.Write = func(ctx context.Context, record *external.Record) error {
		return r.writeRecord(ctx, p, record, len(task.Declared) > 0)
	}
	result := r.keeper.Keep(ctx, task)
	p.known = result.Known
	p.tellOutside(result.Deeds)
	if apierrors.IsNotFound(result.WriteErr) {
		p.over = true // it was deleted before anything was made
		return outcome.Done(), nil
	}
	if result.WriteErr != nil {
		return outcome.Done(), result.WriteErr
	}
	if result.CallErr != nil {
		p.errored(ctx, "external", result.CallErr)
	}
	if result.Unknown || p.deleting() || result.Outcome.Kind() == outcome.KindDone {
		return result.Outcome, nil
	}
	p.aside = append(p.aside, result.Outcome)
	return outcome.Done(), nil
}

// reachesOut tells whether there is, or may be, something outside.
func (r *Reconciler[T]) reachesOut(p *pass[T]) bool {
	_, provisions := any(r.Composer).(Provisioner[T])
	held := controllerutil.ContainsFinalizer(p.object, ExternalFinalizer)
	if p.deleting() {
		return held // nothing is made before it is
	}
	return provisions || held || p.object.GetAnnotations()[external.RecordAnnotation] != ""
}

func (p *pass[T]) deleting() bool { return p.object.GetDeletionTimestamp() != nil }

// task is what the author, the record and the user want to be done.
func (r *Reconciler[T]) task(ctx context.Context, p *pass[T]) (providers.Task, outcome.Outcome, error) {
	task := providers.Task{Owner: p.request.NamespacedName, UID: p.object.GetUID(), Rehearse: r.DryRun != nil}
	annotations := p.object.GetAnnotations()
	var err error
	if task.Record, err = external.ParseRecord(annotations[external.RecordAnnotation], string(task.UID)); err != nil {
		return task, outcome.Done(), err
	}
	if task.Policy, err = external.PolicyOf(annotations[external.PolicyAnnotation]); err != nil {
		return task, outcome.Done(), &InvalidExternalError{err}
	}
	if task.Said, err = external.ParseResolved(annotations[external.ResolvedAnnotation]); err != nil {
		return task, outcome.Done(), &InvalidExternalError{err}
	}
	provisioner, ok := any(r.Composer).(Provisioner[T])
	if !ok || p.deleting() && task.Policy.Orphan {
		return task, outcome.Done(), nil // to leave something behind nobody has to reach it
	}
	declared := &Provision{reading: reading{reads: p.reads, owner: p.object}}
	if err := provisioner.Provision(ctx, p.object, declared); err != nil {
		return task, outcome.Done(), err
	}
	if declared.err != nil {
		return task, outcome.Done(), declared.err
	}
	task.Kinds = declared.kinds
	if !p.deleting() {
		task.Declared = declared.declared
	}
	return task, outcome.Combine(declared.waits...), nil
}

// maxConflicts is how often a write of the record is tried again of which somebody else's write to
// the object got in the way.
const maxConflicts = 5

// writeRecord writes the record, and with it the finalizer, if the object is as it was read: of two
// operators that mark the same, one fails. Where others changed the object and not the record, it is
// written again, as what is known now may be known to nobody else.
func (r *Reconciler[T]) writeRecord(ctx context.Context, p *pass[T], record *external.Record, declared bool) error {
	text, err := record.Text()
	if err != nil {
		return err
	}
	for range maxConflicts {
		err = r.tryRecord(ctx, p, text, declared)
		if !apierrors.IsConflict(err) || !r.sameRecord(ctx, p) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("write down what %s has outside: %w", r.self(p.object), err)
	}
	r.wrote(p, r.kind.Kind, "metadata")
	return nil
}

func (r *Reconciler[T]) tryRecord(ctx context.Context, p *pass[T], text string, declared bool) error {
	edited := p.before.DeepCopyObject().(T)
	annotations := with(edited.GetAnnotations(), map[string]string{external.RecordAnnotation: text})
	delete(annotations, external.ResolvedAnnotation) // what was said is taken up
	switch {
	case text != "":
		controllerutil.AddFinalizer(edited, ExternalFinalizer)
	case !declared:
		delete(annotations, external.RecordAnnotation)
		controllerutil.RemoveFinalizer(edited, ExternalFinalizer)
	default:
		delete(annotations, external.RecordAnnotation) // the next one is to be made
	}
	edited.SetAnnotations(annotations)
	patch := client.MergeFromWithOptions(p.before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, edited, patch, client.FieldOwner(r.Manager)); err != nil {
		return err
	}
	p.renew(edited)
	return nil
}

// renew takes up the metadata of what was written or read again; the rest stays as it was.
func (p *pass[T]) renew(now client.Object) {
	for _, object := range []client.Object{p.before, p.object} {
		object.SetResourceVersion(now.GetResourceVersion())
		object.SetAnnotations(now.GetAnnotations())
		object.SetFinalizers(now.GetFinalizers())
	}
}

// sameRecord reads the object again, and tells whether it is the one that was read, with the record
// that was read.
func (r *Reconciler[T]) sameRecord(ctx context.Context, p *pass[T]) bool {
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(r.kind)
	if err := r.Direct.Get(ctx, p.request.NamespacedName, now); err != nil {
		return false
	}
	record := external.RecordAnnotation
	same := now.GetUID() == p.before.GetUID() && now.GetAnnotations()[record] == p.before.GetAnnotations()[record] &&
		(now.GetDeletionTimestamp() != nil) == p.deleting()
	if same {
		p.renew(now)
	}
	return same
}

// verbsOutside are what becomes of a resource, as events and previews say it.
var verbsOutside = map[external.Verb]struct{ reason, action, done string }{
	external.Create: {"ExternalCreated", "Create", "made outside:"},
	external.Update: {"ExternalUpdated", "Update", "changed outside:"},
	external.Delete: {"ExternalDeleted", "Delete", "deleted outside:"},
	external.Note:   {"ExternalAdopted", "Adopt", "took over outside:"},
	external.Drop:   {"ExternalGone", "Forget", "no longer kept outside:"},
}

// tellOutside makes events, and a record, of what was done outside.
func (p *pass[T]) tellOutside(deeds []providers.Deed) {
	for _, deed := range deeds {
		p.deeds = append(p.deeds, deed)
		p.record.Actions = append(p.record.Actions, actedOutside(deed))
		words := verbsOutside[deed.Verb]
		if deed.Err != nil || words.reason == "" {
			continue
		}
		what := deed.Ref.String()
		if deed.ID != "" {
			what += " (" + deed.ID + ")"
		}
		if deed.Why != "" && deed.Verb != external.Create {
			what += ", " + deed.Why
		}
		p.mention(words.reason, words.action, words.done, what)
	}
}

// mention adds something to the event of a reason: each event is a request to the API server.
func (p *pass[T]) mention(reason, action, done, what string) {
	for i := range p.events {
		if p.events[i].reason == reason {
			p.events[i].note += "; " + what
			return
		}
	}
	p.normal(reason, action, "%s %s", done, strings.TrimSpace(what))
}
