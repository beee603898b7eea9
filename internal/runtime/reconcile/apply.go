package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/report"
)

const (
	// ReasonWaiting: a child has to be ready, or deleted, before another one is written.
	ReasonWaiting = "WaitingForChild"
	// ReasonChildDeleting: a child is being deleted, and the deletion has to complete first.
	ReasonChildDeleting = "ChildDeleting"
)

// applied is the result of executing the plan.
type applied struct {
	// live are the children in the state after the writes.
	live map[plan.ID]*plan.Live
	// held is how long the first of the repairs is held back; 0 means that none is.
	held time.Duration
	// complete means that every child was applied, ready or not.
	complete bool
	// duel is the report about dueling controllers.
	duel string
}

// live returns a child in the newest state that this reconcile knows, or nil if it does not exist.
func (p *pass[T]) live(id plan.ID) *plan.Live {
	return cmp.Or(p.applied.live[id], p.seen.live[id])
}

// apply executes the plan.
func (r *Reconciler[T]) apply(ctx context.Context, p *pass[T]) (applied, outcome.Outcome, error) {
	if orphaned, err := orphaned(ctx, p); orphaned || err != nil {
		return applied{}, outcome.Stop(0), err
	}
	var kinds []schema.GroupKind
	for _, child := range p.composed.desired {
		kinds = append(kinds, child.GroupVersionKind().GroupKind())
	}
	if err := r.Record.Add(ctx, r.kind.GroupKind(), kinds); err != nil {
		return applied{}, outcome.Done(), err
	}
	if err := writeMetadata(ctx, r, p); err != nil {
		return applied{}, outcome.Done(), err
	}
	done, carried := carrierOf(r, p).carryOut(ctx, p.seen, p.actions)
	var duels outcome.Outcome
	done.duel, duels = duel(&p.known.duels, done.held, r.Clock.Now())
	combined := outcome.Combine(append(slices.Clone(p.composed.waits), carried, duels)...)
	done.complete = !combined.Ends()
	return done, combined, nil
}

// carrier executes plans for the children of one object.
type carrier struct {
	applier  *apply.Applier
	clock    clock.PassiveClock
	known    *remembered
	entry    *report.Entry
	operator context.Context // ends when the operator has to stop
	owner    client.Object
	composed composed
}

func carrierOf[T client.Object](r *Reconciler[T], p *pass[T]) *carrier {
	return &carrier{r.applier, r.Clock, p.known, p.entry, p.operator, p.object.now, p.composed}
}

// carryOut executes a plan. One child that fails does not stop the others.
func (c *carrier) carryOut(ctx context.Context, seen children, actions []plan.Action) (applied, outcome.Outcome) {
	combined, result, written := outcome.Done(), applied{live: map[plan.ID]*plan.Live{}}, map[plan.ID]bool{}
	for _, action := range actions {
		if left := c.known.duels.Hold(action.ID(), c.undoes(action), c.clock.Now()); left > 0 {
			result.held = cmp.Or(min(result.held, left), left)
			continue
		}
		done, err := c.applier.Do(ctx, action)
		if err != nil && c.operator.Err() != nil {
			return result, outcome.Stop(0)
		}
		c.entry.Action(done, err)
		if err != nil {
			combined = outcome.Combine(combined, explain(err).With(fmt.Errorf("%s: %w", action.Verb, err)))
			continue
		}
		combined = outcome.Combine(combined, waitsAfter(done), requeueIfUnobserved(seen, done))
		c.remember(action, done)
		if hasResult(done.Verb) {
			result.live[done.ID()] = done.Live
		}
		c.entry.Events.Action(done)
		written[done.ID()] = report.Writes(done.Verb)
	}
	return result, combined.Soon(freed(c.composed, result, actions, written))
}

// freed reports whether a child was held for one that this reconcile wrote and that is ready already.
// The watch delivers no more than the response to the write did, and so triggers nothing.
func freed(composed composed, result applied, actions []plan.Action, written map[plan.ID]bool) bool {
	ready := func(before plan.ID) bool {
		live := result.live[before]
		if !written[before] || live == nil {
			return false
		}
		state, err := composed.readiness(before, live)
		return err == nil && state.Kind() == outcome.KindDone
	}
	return slices.ContainsFunc(actions, func(a plan.Action) bool {
		return a.Verb == plan.Hold && slices.ContainsFunc(a.Options.After, ready)
	})
}

// waitsAfter returns what has to be waited for after an action.
func waitsAfter(done plan.Action) outcome.Outcome {
	message := fmt.Sprintf("%s %s", done.ID(), done.Why)
	switch done.Verb {
	case plan.Hold:
		return outcome.Wait(ReasonWaiting, message)
	case plan.Await:
		if done.Live.Owner != ownerOf(done) {
			return outcome.Retry(0, ReasonChildDeleting, message) // of an earlier owner: its events go elsewhere
		}
		return outcome.Wait(ReasonChildDeleting, message)
	case plan.Replace:
		return outcome.Wait(ReasonChildDeleting, fmt.Sprintf("%s is deleted to be recreated: %s", done.ID(), done.Why))
	}
	return outcome.Done()
}

// requeueIfUnobserved requeues when no watch is guaranteed to report the effect of an action.
func requeueIfUnobserved(seen children, done plan.Action) outcome.Outcome {
	if (done.Verb == plan.Delete || done.Verb == plan.Replace) && seen.unshown[done.ID()] {
		return outcome.Again(timing.lookAgain)
	}
	return outcome.Done()
}

// ownerOf returns the owner for which an action is executed.
func ownerOf(action plan.Action) string {
	if action.Desired == nil {
		return action.Live.Owner
	}
	return action.Desired.GetLabels()[plan.OwnerLabel]
}

// hasResult reports whether a child exists after an action in the state that the action left.
func hasResult(verb plan.Verb) bool {
	return !removes(verb) && verb != plan.Hold && verb != plan.Await
}

func removes(verb plan.Verb) bool {
	return verb == plan.Delete || verb == plan.Replace || verb == plan.Release
}

// remember records what exists after an action, and what was repaired. Children that were
// removed on purpose are forgotten, so that they are not recreated.
func (c *carrier) remember(action, done plan.Action) {
	switch done.Verb {
	case plan.Repair, plan.Recreate, plan.Update:
		c.known.duels.Repaired(done.ID(), c.undoes(action), c.clock.Now())
		if done.Verb == plan.Update {
			c.known.duels.Updated(done.ID(), action.Desired.GetAnnotations()[plan.HashAnnotation], c.clock.Now())
		}
	case plan.Release, plan.Delete:
		c.known.duels.Forget(done.ID())
	}
	switch {
	case removes(done.Verb):
		c.known.family.Unsee(done.ID())
	case hasResult(done.Verb):
		c.known.family.Saw(done.Live)
	}
}

// writing are the verbs after which a child exists.
var writing = []plan.Verb{plan.Create, plan.Update, plan.Repair, plan.Adopt}

// orphaned reports whether the plan is one for an object that was deleted. Watches of different kinds are not synchronized, so it asks the API
// server before actions that do harm then: a recreated child has to be garbage-collected again, one that cannot be collected would stay, and children
// that the deletion left behind, without an owner reference, belong to somebody else. With the reference back, garbage collection would delete them, too.
func orphaned[T client.Object](ctx context.Context, p *pass[T]) (bool, error) {
	owner := p.object.now
	harms := func(a plan.Action) bool {
		remains := slices.Contains(writing, a.Verb) && !apply.Collected(owner, a.Desired)
		returns := a.Live != nil && a.Desired != nil && metav1.IsControlledBy(a.Desired, owner) && !a.Live.RefersTo(owner.GetUID())
		return a.Verb == plan.Recreate || a.Verb == plan.Delete || remains || returns && a.Verb != plan.Conflict
	}
	if !slices.ContainsFunc(p.actions, harms) {
		return false, nil
	}
	return p.object.gone(ctx)
}
