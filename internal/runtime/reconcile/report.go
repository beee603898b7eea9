package reconcile

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/report"
)

// stepReport is the name of the step that always runs.
const stepReport = "report"

// reported is the result of the report.
type reported struct {
	ready report.Transition
	// held is how much longer the status is held back; 0 means that it is not.
	held time.Duration
}

// report is the only writer of the conditions of the runtime. It writes the status once, and only when something changed.
func (r *Reconciler[T]) report(ctx context.Context, p *pass[T]) (*reported, outcome.Outcome, error) {
	object, now := p.object, r.Clock.Now()
	conditions, err := object.conditions()
	if err != nil {
		return nil, outcome.Done(), err
	}
	if paused(object.now) {
		conditions.Pause(pausedMessage, object.now.GetGeneration(), now)
		p.entry.Events.Send(r.Events, object.now)
		return nil, outcome.Done(), object.writeStatus(ctx)
	}
	before := conditions.Ready()
	conditions.Resume()
	conditions.Report(p.outcome(), object.now.GetGeneration(), now)
	if !p.version.newer {
		conditions.Contest(p.applied.duel, object.now.GetGeneration(), now)
	}
	if d := p.observed.Degraded; d != nil {
		conditions.Degrade(d.Reason, d.Message, object.now.GetGeneration(), now)
	} else if r.Roles.Observe != nil && !p.version.newer {
		conditions.Degrade("", "", 0, now)
	}
	p.version.record(conditions, r.Version, r.Roles.Upgrade != nil, object.statusChanged(), now)
	found := &reported{ready: report.Transition{Before: before, After: conditions.Ready()}}
	if object.detached == nil || before.Type != "" || found.ready.After.Status != metav1.ConditionTrue { // no events after each restart
		p.entry.Events.Ready(found.ready, p.outcome().Kind())
	}
	if observed := p.ended[len(p.ended)-1]; p.applied.live != nil && observed.Err() == nil { // everything was read
		p.reads.End()
	}
	p.entry.Events.Send(r.Events, object.now)
	return p.writeReport(ctx, found, r.Events, now)
}

// writeReport writes the status, or holds it back for a moment.
func (p *pass[T]) writeReport(ctx context.Context, found *reported, recorder events.EventRecorder, now time.Time) (*reported, outcome.Outcome, error) {
	if p.object.detached != nil {
		return found, outcome.Done(), nil
	}
	keepEmpty(statusField(p.object.now), statusField(p.object.before))
	onlyMessages, err := p.object.onlyMessagesChanged()
	if err != nil {
		return found, outcome.Done(), err
	}
	if found.held = p.known.hold(onlyMessages && !p.version.upgraded, now); found.held > 0 {
		return found, outcome.Again(found.held), nil
	}
	err = p.object.writeStatus(ctx)
	if is[*StatusError](err) {
		// A report that the status cannot hold is sent by other means.
		log.FromContext(ctx).Error(outcome.CutError(err), "the status is not written")
		p.entry.Events.Warning(ReasonStatusRefused, "Reconcile", "%v", err)
		p.entry.Events.Send(recorder, p.object.now)
		return nil, outcome.Done(), err // no client can read that the object is ready
	}
	return found, outcome.Done(), err
}
