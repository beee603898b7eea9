package reconcile

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/author"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/runtime/report"
	"github.com/operon-framework/operon/internal/runtime/shard"
	"github.com/operon-framework/operon/internal/runtime/watches"
)

// pass is one reconcile of one object: its input, and the results of each step. The second part is
// written by the list of steps only.
type pass[T client.Object] struct {
	request  Request
	operator context.Context // ends when the operator has to stop
	reads    author.Reads
	known    *remembered // of the object, between reconciles
	entry    *report.Entry
	ended    []outcome.Outcome // of the steps so far

	object   *object[T] // nil until it was fetched, and if it was deleted
	version  version
	outside  outside
	composed composed
	seen     children
	actions  []plan.Action
	applied  applied
	observed author.Verdict
	reported *reported
}

// unreported reports whether the report of an object was not written.
func (p *pass[T]) unreported() bool {
	return p.object != nil && (p.stopped() || p.ended[len(p.ended)-1].Err() != nil)
}

func (r *Reconciler[T]) begin(ctx context.Context, request Request) (context.Context, *pass[T], func()) {
	now, key := r.Clock.Now(), request.NamespacedName
	p := &pass[T]{request: request, operator: ctx, reads: r.Reads(key), known: r.objects.get(key)}
	ctx, release := finish(ctx)
	ctx, p.entry = report.Begin(ctx, r.Tracer, idOf(r.kind, request), r.triggers.Take(key, now), now)
	return ctx, p, release
}

// stopped reports whether the reconcile is over, with nothing left to do or to report.
func (p *pass[T]) stopped() bool {
	for _, o := range p.ended {
		if o.Kind() == outcome.KindStop {
			return true
		}
	}
	return len(p.ended) > 0 && p.object == nil
}

// ends reports whether a step was not done, so that only the last steps remain.
func (p *pass[T]) ends() bool {
	for _, o := range p.ended {
		if o.Ends() {
			return true
		}
	}
	return false
}

// outcome returns the combined outcome of the steps so far.
func (p *pass[T]) outcome() outcome.Outcome {
	return outcome.Combine(p.ended...).Soon(p.object != nil && p.object.missed)
}

// interrupted reports whether the operator stops. Failures caused by the stop are not reported, neither in the
// object's status nor to its user: the next operator process reconciles again.
func (p *pass[T]) interrupted() bool { return p.operator.Err() != nil }

// end completes the record of a reconcile: its outcome, and why the object is reconciled again.
func (r *Reconciler[T]) end(ctx context.Context, p *pass[T]) (Result, error) {
	key, o := p.request.NamespacedName, p.outcome()
	result, err := resultOf(o)
	var back *reconcilelog.Back
	switch {
	case err != nil:
		back = &reconcilelog.Back{For: trigger.Cause{Kind: trigger.RetryAfterError, Note: err.Error()}}
	case result.RequeueAfter > 0:
		back = &reconcilelog.Back{At: r.Clock.Now().Add(result.RequeueAfter), For: p.timer(o, result.RequeueAfter)}
	}
	if p.delayed() {
		r.triggers.PutBack(key, p.entry.Gathered)
	}
	if back != nil {
		r.triggers.Schedule(key, back.For, back.At)
	}
	p.entry.Close(p.word(o), o, p.generation(), back)
	if p.reported != nil {
		p.known.readiness.Log(log.FromContext(ctx), r.kind.Kind, p.reported.ready, o, outcome.CutError(o.Err()))
	}
	p.entry.Log(log.FromContext(ctx))
	if r.Watches != nil {
		report.SetWatches(r.Watches())
	}
	r.History.Add(r.kind.GroupKind(), key.Namespace, key.Name, p.entry.Pass)
	return result, err
}

// resultOf returns when the work queue reconciles an object again: at once and then at growing intervals after an
// error that may be temporary, after some time if the outcome requests it, else when something
// changes.
func resultOf(o outcome.Outcome) (Result, error) {
	retried := o.Kind() == outcome.KindRetry || o.BacksOff()
	switch {
	case o.IsSoon() && (o.Err() == nil || o.After() > 0 || !retried):
		return Result{RequeueAfter: time.Nanosecond}, nil
	case o.After() > 0:
		return Result{RequeueAfter: o.After()}, nil
	case retried:
		err := cmp.Or(o.Err(), errors.New(o.Message())) // without an error the queue would not back off
		return Result{}, outcome.CutError(err)          // controller-runtime logs it with each retry
	}
	return Result{}, nil
}

// timer returns the trigger of a delayed reconcile, by the outcome that requested it.
func (p *pass[T]) timer(o outcome.Outcome, after time.Duration) trigger.Cause {
	switch {
	case p.delayed():
		return trigger.Cause{Kind: trigger.Delayed}
	case p.reported != nil && p.reported.held == after:
		return trigger.Cause{Kind: trigger.StatusHeld}
	case o.Kind() == outcome.KindStalled:
		return trigger.Cause{Kind: trigger.SlowRetry, Note: o.Reason()}
	}
	return trigger.Cause{Kind: trigger.Timer, Note: o.Reason()}
}

// word returns the outcome of the reconcile in one word, for logs and metrics.
func (p *pass[T]) word(o outcome.Outcome) string {
	switch {
	case p.object == nil && o.Err() == nil:
		return reconcilelog.Gone
	case p.delayed():
		return reconcilelog.Delayed
	case o.Kind() == outcome.KindStop && o.After() > 0:
		return outcome.KindRetry.String()
	case o.Kind() == outcome.KindStop:
		return outcome.KindDone.String()
	}
	return o.Kind().String()
}

// delayed reports whether the reconcile ended before its work, because it came too early.
func (p *pass[T]) delayed() bool {
	return p.stopped() && p.entry.Steps[len(p.entry.Steps)-1].Name == stepPace
}

// announce records the events of the author's code that are new.
func (p *pass[T]) announce(role string, recorded []author.Event) {
	for _, e := range p.known.news(role, recorded) {
		p.entry.Events.Authors(e.Type, e.Reason, role, e.Message)
	}
}

// generation returns the generation of the object, or 0 if it was not read.
func (p *pass[T]) generation() int64 {
	if p.object == nil {
		return 0
	}
	return p.object.now.GetGeneration()
}

// lifeKey is the context key of the life of the operator.
type lifeKey struct{}

// During returns a context for an operator whose running reconciles may not finish after its life has ended: for example, another replica
// leads by then.
func During(ctx, life context.Context) context.Context {
	return context.WithValue(ctx, lifeKey{}, life)
}

// finish returns a context for a reconcile that outlives the operator's context by some time, so that
// writes are not cut off halfway, and reads not reported as failed. Only the first read of a whole kind is
// given up earlier: nothing is lost with it, and it may never end if the API server is unreachable. The context ends after
// release, and at once if the object belongs to another replica, or with the life of the operator.
func finish(ctx context.Context) (_ context.Context, release func()) {
	own, cancel := context.WithCancel(watches.Until(context.WithoutCancel(ctx), ctx))
	abandoned := func() bool { return true }
	if life, ok := ctx.Value(lifeKey{}).(context.Context); ok {
		abandoned = context.AfterFunc(life, cancel)
	}
	stopped := context.AfterFunc(ctx, func() {
		if shard.Lost(ctx) {
			cancel()
			return
		}
		timer := time.AfterFunc(timing.finishing, cancel)
		context.AfterFunc(own, func() { timer.Stop() })
	})
	return own, func() {
		abandoned()
		stopped()
		cancel()
	}
}
