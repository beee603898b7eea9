package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/providers"
	"github.com/operon-framework/operon/internal/runtime/reconcilelog"
	"github.com/operon-framework/operon/internal/runtime/telemetry"
)

// pass is what one reconcile of one object knows as it goes on.
type pass[T client.Object] struct {
	operator context.Context // ends when the operator is told to stop
	release  func()          // ends the pass's own context
	request  Request
	reads    Reads
	record   reconcilelog.Pass
	began    time.Time
	span     telemetry.Span

	object T // as the author's code may change it
	before T // as it was read

	known map[string][]external.Known[any] // of what is outside of the cluster
	deeds []providers.Deed

	composed []*child // as declared
	desired  []*unstructured.Unstructured
	options  map[plan.ID]plan.Options
	ready    map[plan.ID][]Readiness
	owned    []*plan.Live
	unshown  map[plan.ID]bool // those of them that no watch has shown yet
	live     map[plan.ID]*plan.Live
	actions  []plan.Action
	events   []event
	reported *reported

	contested string        // what is to be said of contests
	held      time.Duration // how long the first of the repairs is held back

	waits      []outcome.Outcome // what composing waits for
	incomplete bool              // more may be composed later

	fit        bool // the object is one that this version of the operator may take care of
	upgraded   bool
	downgraded bool

	outcomes []outcome.Outcome
	aside    []outcome.Outcome // of steps that end nothing
	err      error
	over     bool // nothing is left to do, not even to report
	again    bool // there is more to do at once, or something happened to the object meanwhile
}

func (r *Reconciler[T]) begin(ctx context.Context, request Request) (context.Context, *pass[T]) {
	now := r.Clock.Now()
	p := &pass[T]{
		began:    time.Now(),
		operator: ctx,
		request:  request,
		reads:    r.Reads(request.NamespacedName),
		record:   reconcilelog.Pass{Started: now, Steps: make([]reconcilelog.Step, 0, stepCount), Gathered: r.causes.take(request.NamespacedName, now)},
		live:     map[plan.ID]*plan.Live{},
	}
	ctx, p.release = finish(ctx)
	ctx, p.span = r.trace(ctx, p)
	return ctx, p
}

// newObject returns an empty T.
func (r *Reconciler[T]) newObject() (T, error) {
	kind := reflect.TypeFor[T]()
	if kind.Kind() != reflect.Pointer {
		return *new(T), fmt.Errorf("%s is no pointer to a struct", kind)
	}
	object, ok := reflect.New(kind.Elem()).Interface().(T)
	if !ok {
		return *new(T), fmt.Errorf("%s cannot be made", kind)
	}
	return object, nil
}

func (p *pass[T]) note(s step[T], o outcome.Outcome) {
	if s.aside {
		p.aside = append(p.aside, o)
		return
	}
	p.outcomes = append(p.outcomes, o)
}

// failed tells whether a step has ended in something else than done, which ends the pass.
func (p *pass[T]) failed() bool { return outcome.Combine(p.outcomes...).Kind() != outcome.KindDone }

// outcome is what the steps so far make together.
func (p *pass[T]) outcome() outcome.Outcome { return p.combined(p.outcomes) }

// combined is what some of the outcomes make together with those that end nothing.
func (p *pass[T]) combined(outcomes []outcome.Outcome) outcome.Outcome {
	return outcome.Combine(append(slices.Clone(outcomes), p.aside...)...)
}

func (p *pass[T]) errored(ctx context.Context, step string, err error) {
	var panicked *panicError
	if errors.As(err, &panicked) {
		log.FromContext(ctx).Error(panicked, "the operator's code panicked", "step", step, "stack", string(panicked.stack))
	}
	p.err = errors.Join(p.err, fmt.Errorf("%s: %w", step, err))
}

// result tells the work queue when to come back: at once and then ever later after an
// error that time may cure, after a while where an outcome says so, else when something
// changes.
func (p *pass[T]) result() (Result, error) {
	o := p.outcome()
	if p.again && (p.err == nil || o.After() > 0) {
		return Result{RequeueAfter: time.Nanosecond}, nil
	}
	if o.After() > 0 {
		return Result{RequeueAfter: o.After()}, nil
	}
	if o.Kind() == outcome.KindRetry || o.BacksOff() {
		return Result{}, cmp.Or(p.err, errors.New(o.Message())) // without an error the queue would not back off
	}
	return Result{}, nil
}
