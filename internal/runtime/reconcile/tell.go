package reconcile

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/providers"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/runtime/telemetry"
)

// stepCount is for how many steps there is place in a record at once.
const stepCount = 14

// debugLevel is logr's level that is slog's Debug.
const debugLevel = 4

// trace starts the span of a pass.
func (r *Reconciler[T]) trace(ctx context.Context, p *pass[T]) (context.Context, telemetry.Span) {
	if r.Tracer == nil {
		return ctx, telemetry.Span{} // the texts of causes cost something
	}
	return r.Tracer.Reconcile(ctx, r.kind.Kind, p.request.Namespace, p.request.Name, p.record.Texts())
}

// stepped takes note of a step that ended.
func (r *Reconciler[T]) stepped(p *pass[T], name string, took time.Duration, o outcome.Outcome) {
	stepSeconds.WithLabelValues(r.kind.Kind, name).Observe(took.Seconds())
	p.record.Steps = append(p.record.Steps, reconcilelog.Step{Name: name, Took: took, Outcome: o.Kind().String()})
}

// acted takes note of an action that was carried out, or tried.
func (r *Reconciler[T]) acted(p *pass[T], action plan.Action, err error) {
	if action.Verb == plan.Keep {
		return
	}
	id := action.ID()
	noted := reconcilelog.Action{
		Verb:   string(action.Verb),
		Object: trigger.Object{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name},
		Why:    action.Why,
	}
	if err != nil {
		noted.Error = err.Error()
	}
	p.record.Actions = append(p.record.Actions, noted)
	if err != nil || !writes(action.Verb) {
		return
	}
	r.wrote(p, id.Kind, noted.Verb)
	if action.Verb == plan.Repair || action.Verb == plan.Recreate {
		repairsTotal.WithLabelValues(id.Kind).Inc()
	}
}

// actedOutside is something that was done outside of the cluster, for the history.
func actedOutside(deed providers.Deed) reconcilelog.Action {
	noted := reconcilelog.Action{Verb: string(deed.Verb), Object: trigger.Object{Kind: deed.Ref.Kind, Name: deed.Ref.Name}, Why: deed.Why}
	if deed.Err != nil {
		noted.Error = deed.Err.Error()
	}
	return noted
}

// writes tells whether an action is a request that changes something.
func writes(verb plan.Verb) bool {
	switch verb {
	case plan.Keep, plan.Await, plan.Hold, plan.Conflict, plan.Immutable:
		return false
	}
	return true
}

// wrote counts a request that changed something.
func (r *Reconciler[T]) wrote(p *pass[T], kind, verb string) {
	p.record.Writes++
	writesTotal.WithLabelValues(kind, verb).Inc()
}

// end closes the books of a pass: what it came to, and why the object comes back.
func (r *Reconciler[T]) end(ctx context.Context, p *pass[T]) (Result, error) {
	defer p.release()
	result, err := p.result()
	p.close(result, err, r.Clock.Now())
	if p.delayed() {
		r.causes.putBack(p.request.NamespacedName, p.record.Gathered)
	}
	if back := p.record.Back; back != nil {
		r.causes.schedule(p.request.NamespacedName, back.For, back.At)
	}
	r.log(ctx, p)
	r.count(p)
	r.History.Add(r.kind.GroupKind(), p.request.Namespace, p.request.Name, p.record)
	p.span.End(p.record.Outcome, p.record.Reason, p.err)
	return result, err
}

// close fills in what is known of a pass only at its end.
func (p *pass[T]) close(result Result, err error, now time.Time) {
	o := p.verdict()
	p.record.Took = time.Since(p.began)
	p.record.Outcome, p.record.Reason, p.record.Message = o.Kind().String(), o.Reason(), o.Message()
	switch {
	case p.gone():
		p.record.Outcome = reconcilelog.Gone
	case p.delayed():
		p.record.Outcome = reconcilelog.Delayed
	}
	if p.fetched() {
		p.record.Generation = p.object.GetGeneration()
	}
	if p.err != nil {
		p.record.Error = p.err.Error()
	}
	switch {
	case err != nil:
		p.record.Back = &reconcilelog.Back{For: trigger.Cause{Kind: trigger.RetryAfterError, Note: err.Error()}}
	case result.RequeueAfter > 0:
		p.record.Back = &reconcilelog.Back{At: now.Add(result.RequeueAfter), For: p.timer(result.RequeueAfter)}
	}
}

// verdict is what the pass came to, whether that was written or is held back.
func (p *pass[T]) verdict() outcome.Outcome {
	last := len(p.outcomes) - 1
	if p.reported != nil && p.outcomes[last].Kind() == outcome.KindRetry && p.outcomes[last].Reason() == "" {
		return p.combined(p.outcomes[:last])
	}
	return p.outcome()
}

// fetched tells whether the object was read.
func (p *pass[T]) fetched() bool { return len(p.record.Steps) > 1 }

// gone tells whether the object was found to be gone.
func (p *pass[T]) gone() bool { return !p.fetched() && p.over && p.err == nil }

// delayed tells whether the pass ended before its work, as it came too early.
func (p *pass[T]) delayed() bool {
	return p.over && p.record.Steps[len(p.record.Steps)-1].Name == stepPace
}

// reported is the Ready condition as it was read and as it is now.
type reported struct{ before, after metav1.Condition }

// log tells of a change of readiness, and in debugging of each pass.
func (r *Reconciler[T]) log(ctx context.Context, p *pass[T]) {
	logger, key := log.FromContext(ctx), p.request.NamespacedName
	if p.gone() {
		r.readyStates.forget(key)
	}
	if ready := p.reported; ready != nil {
		before, after := r.readyStates.become(key, stateOf(ready.before), stateOf(ready.after)), stateOf(ready.after)
		if before != after {
			logReadiness(logger, before, ready.after, p)
		}
	}
	if !logger.V(debugLevel).Enabled() {
		return
	}
	values := []any{"causes", p.record.Texts(), "outcome", p.record.Outcome, "took", p.record.Took, "writes", p.record.Writes}
	if p.record.Reason != "" {
		values = append(values, "reason", p.record.Reason, "message", p.record.Message)
	}
	if p.record.Back != nil {
		values = append(values, "back", p.record.Back.For.String())
	}
	logger.V(debugLevel).Info("reconciled", values...)
}

// logReadiness tells that an object became ready or ceased to be, as an error where waiting
// alone does not help. That one which was not ready yet waits for its children is no news.
func logReadiness[T client.Object](logger logr.Logger, before readyState, now metav1.Condition, p *pass[T]) {
	waits := p.outcome().Kind() == outcome.KindWait
	switch {
	case now.Status == metav1.ConditionTrue:
		logger.Info("ready")
	case waits && before.status == metav1.ConditionTrue:
		logger.Info("not ready", "reason", now.Reason, "message", now.Message)
	case !waits:
		logger.Error(p.err, "not ready", "reason", now.Reason)
	}
}
