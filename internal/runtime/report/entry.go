package report

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/core/trigger"
	"github.com/operon-framework/operon/internal/runtime/providers"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/runtime/telemetry"
)

const (
	// stepCount is the initial capacity of an entry for steps.
	stepCount = 15
	// debugLevel is the logr level that corresponds to slog's Debug.
	debugLevel = 4
)

// Entry is the record of one reconcile while it runs: its steps, actions and writes. Each of them is counted
// in the metrics as it is added.
type Entry struct {
	reconcilelog.Pass
	// Events are sent together, when the status is reported.
	Events Events

	kind  string
	began time.Time
	span  telemetry.Span
}

// Begin starts the entry of a reconcile of an object of a kind, and its span.
func Begin(ctx context.Context, tracer *telemetry.Tracer, object plan.ID, why trigger.Gathered, now time.Time) (context.Context, *Entry) {
	e := &Entry{kind: object.Kind, began: time.Now()}
	e.Pass = reconcilelog.Pass{Started: now, Steps: make([]reconcilelog.Step, 0, stepCount), Gathered: why}
	if tracer != nil { // building the texts of causes is expensive
		ctx, e.span = tracer.Reconcile(ctx, object.Kind, object.Namespace, object.Name, e.Texts())
	}
	return ctx, e
}

// Began returns when the reconcile began, by the real clock.
func (e *Entry) Began() time.Time { return e.began }

// Step records a step that ended.
func (e *Entry) Step(name string, took time.Duration, o outcome.Outcome) {
	stepSeconds.WithLabelValues(e.kind, name).Observe(took.Seconds())
	e.Steps = append(e.Steps, reconcilelog.Step{Name: name, Took: took, Outcome: o.Kind().String()})
}

// Action records an action that was executed, or attempted.
func (e *Entry) Action(action plan.Action, err error) {
	if action.Verb == plan.Keep {
		return
	}
	id := action.ID()
	e.add(string(action.Verb), trigger.Object{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}, action.Why, err)
	if err != nil || !Writes(action.Verb) {
		return
	}
	e.Wrote(id.Kind, string(action.Verb))
	if action.Verb == plan.Repair || action.Verb == plan.Recreate {
		repairsTotal.WithLabelValues(id.Kind).Inc()
	}
}

// External records what was done to an external resource.
func (e *Entry) External(deed providers.Deed) {
	e.add(string(deed.Verb), trigger.Object{Kind: deed.Ref.Kind, Name: deed.Ref.Name}, deed.Why, deed.Err)
}

func (e *Entry) add(verb string, object trigger.Object, why string, err error) {
	noted := reconcilelog.Action{Verb: verb, Object: object, Why: why}
	if err != nil {
		noted.Error = err.Error()
	}
	e.Actions = append(e.Actions, noted)
}

// Writes reports whether an action is a request that changes something.
func Writes(verb plan.Verb) bool {
	return !slices.Contains([]plan.Verb{plan.Keep, plan.Await, plan.Hold, plan.Conflict, plan.Immutable}, verb)
}

// Wrote counts a request that changed something of an object of a kind.
func (e *Entry) Wrote(kind, verb string) {
	e.Pass.Writes++
	writesTotal.WithLabelValues(kind, verb).Inc()
}

// Close completes the entry with the outcome of the reconcile. word is its outcome in one word: the kind of the
// outcome, or reconcilelog.Gone or Delayed.
func (e *Entry) Close(word string, o outcome.Outcome, generation int64, back *reconcilelog.Back) {
	e.Took = time.Since(e.began)
	e.Outcome, e.Reason, e.Message = word, o.Reason(), o.Message()
	e.Generation, e.Back = generation, back
	if err := o.Err(); err != nil {
		e.Error = err.Error()
	}
	reconcilesTotal.WithLabelValues(e.kind, e.Outcome).Inc()
	for _, c := range e.Causes {
		causesTotal.WithLabelValues(e.kind, string(c.Kind)).Inc()
	}
	e.span.End(e.Outcome, e.Reason, o.Err())
}

// Log logs the reconcile for debugging.
func (e *Entry) Log(logger logr.Logger) {
	if !logger.V(debugLevel).Enabled() {
		return
	}
	values := []any{"causes", e.Texts(), "outcome", e.Outcome, "took", e.Took, "writes", e.Pass.Writes}
	if e.Reason != "" {
		values = append(values, "reason", e.Reason, "message", e.Message)
	}
	if e.Back != nil {
		values = append(values, "back", e.Back.For.String())
	}
	logger.V(debugLevel).Info("reconciled", values...)
}

// SetWatches sets the metric of the number of watches that the operator has open.
func SetWatches(count int) { watchCount.WithLabelValues().Set(float64(count)) }
