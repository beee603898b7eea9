package reconcile

import (
	"context"
	"errors"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/core/condition"
	"github.com/operon-framework/operon/internal/core/outcome"
)

// status lets the author fill the object's status.
func (r *Reconciler[T]) status(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	observer, ok := any(r.Composer).(Observer[T])
	if !ok {
		return outcome.Done(), nil
	}
	return outcome.Done(), observer.Observe(ctx, p.object, r.observed(p))
}

// report is the only writer of status. It writes once, and only when something changed.
func (r *Reconciler[T]) report(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	conditions, err := condition.Of(p.object)
	if err != nil {
		return outcome.Done(), err
	}
	before := conditions.Ready()
	conditions.Report(p.outcome(), p.object.GetGeneration(), r.Clock.Now())
	conditions.Contest(p.contested, p.object.GetGeneration(), r.Clock.Now())
	r.recordRelease(p, conditions)
	p.tellReadiness(before, conditions.Ready())
	if !p.failed() {
		if err := p.reads.End(ctx); err != nil {
			return outcome.Done(), err
		}
	}
	r.sendEvents(p)
	keepEmpty(statusField(p.object), statusField(p.before))
	only, err := p.onlyMessages()
	if err != nil {
		return outcome.Done(), err
	}
	if left := r.pending.hold(p.request.NamespacedName, only && !p.upgraded, r.Clock.Now()); left > 0 {
		return outcome.Retry(left, "", ""), nil
	}
	return outcome.Done(), r.writeStatus(ctx, p)
}

func (r *Reconciler[T]) writeStatus(ctx context.Context, p *pass[T]) error {
	if reflect.DeepEqual(statusOf(p.object), statusOf(p.before)) {
		return nil
	}
	err := r.locked(ctx, p, func() error {
		// Only the status is written: what else the author's code may have changed stays here.
		written := p.before.DeepCopyObject().(T)
		statusField(written).Set(statusField(p.object))
		return r.patchStatus(ctx, p, written)
	})
	if errors.Is(err, durable.ErrSuperseded) {
		p.again = true // somebody else tells
		return nil
	}
	if is[*StatusError](err) {
		r.tellRefusal(ctx, p, err)
	}
	if err == nil {
		r.wrote(p, r.kind.Kind, "status")
	}
	return r.unlessGone(ctx, p, err)
}

// tellRefusal tells by other means what cannot be told by the status.
func (r *Reconciler[T]) tellRefusal(ctx context.Context, p *pass[T], err error) {
	log.FromContext(ctx).Error(err, "the status is not written")
	p.warning(ReasonStatusRefused, "Reconcile", "%v", err)
	r.sendEvents(p)
	p.reported = nil // nobody reads that the object is ready
}

// patchStatus writes the status of an object: where its journal changes, on condition that
// nobody has written since.
func (r *Reconciler[T]) patchStatus(ctx context.Context, p *pass[T], written T) error {
	patch := r.over(p.before)
	if field := journalOf(written); field != nil && !journal.Same(*field, *journalOf(p.before)) {
		patch = lockOn(p.before)
	}
	r.own.begin(p.request.NamespacedName, p.before.GetResourceVersion())
	err := r.Client.Status().Patch(ctx, written, patch, client.FieldOwner(r.Manager))
	if fields := missing(err); len(fields) > 0 {
		err = r.Client.Status().Patch(ctx, written, filled{patch, fields}, client.FieldOwner(r.Manager))
	}
	if apierrors.IsInvalid(err) {
		err = &StatusError{Kind: r.kind.Kind, Err: err}
	}
	made := written.GetResourceVersion()
	if err != nil {
		made = ""
	}
	p.again = r.own.end(p.request.NamespacedName, made) || p.again
	return err
}

// over is a patch over an object: where several processes share objects, over that very version.
func (r *Reconciler[T]) over(before T) client.Patch {
	if r.Mine != nil {
		return lockOn(before)
	}
	return client.MergeFrom(before)
}

func statusOf(object any) any { return statusField(object).Interface() }

func statusField(object any) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName("Status")
}

// tellReadiness makes an event of a change of the Ready condition. That an object which was
// not ready yet waits for its children is no news.
func (p *pass[T]) tellReadiness(before, after metav1.Condition) {
	p.reported = &reported{before, after}
	now := p.outcome().Kind()
	if before.Status == after.Status && before.Reason == after.Reason || now == outcome.KindWait && before.Status != metav1.ConditionTrue {
		return
	}
	kind := corev1.EventTypeNormal
	if now == outcome.KindStalled || now == outcome.KindRetry {
		kind = corev1.EventTypeWarning
	}
	p.events = append(p.events, event{kind: kind, reason: after.Reason, action: "Reconcile", note: after.Message})
}
