package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/core/plan"
)

const (
	// ReasonWaiting: a child has to be ready, or gone, before another one is written.
	ReasonWaiting = "WaitingForChild"
	// ReasonChildDeleting: a child is being deleted and has to go first.
	ReasonChildDeleting = "ChildDeleting"
)

// apply carries the plan out.
func (r *Reconciler[T]) apply(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	if orphaned, err := r.orphaned(ctx, p); orphaned || err != nil {
		p.over = orphaned
		return outcome.Done(), err
	}
	var kinds []schema.GroupKind
	for _, child := range p.desired {
		kinds = append(kinds, child.GroupVersionKind().GroupKind())
	}
	if err := r.Record.Add(ctx, r.kind.GroupKind(), kinds); err != nil {
		return outcome.Done(), err
	}
	if err := r.hold(ctx, p); err != nil {
		return outcome.Done(), err
	}
	applied, err := r.carryOut(ctx, p)
	return outcome.Combine(append(p.waits, applied, r.contests(p))...), err
}

// carryOut does what the plan says. One child that fails does not stop the others.
func (r *Reconciler[T]) carryOut(ctx context.Context, p *pass[T]) (outcome.Outcome, error) {
	combined, written := outcome.Done(), map[plan.ID]bool{}
	for _, action := range p.actions {
		if r.holdBack(p, action) {
			continue
		}
		done, err := r.applier.Do(ctx, action)
		if err != nil && p.interrupted() {
			return outcome.Done(), nil
		}
		r.acted(p, done, err)
		if err != nil {
			combined = outcome.Combine(combined, explain(err))
			p.errored(ctx, string(action.Verb), err)
			continue
		}
		combined = outcome.Combine(combined, waitsAfter(done), p.untold(done))
		r.remember(p, action, done)
		p.tell(done)
		written[done.ID()] = writes(done.Verb)
	}
	p.again = p.freed(written)
	return combined, nil
}

// freed tells whether a child was held for one that this pass wrote and that is ready already.
// The watch shows no more than the answer to the write did, and so tells nobody.
func (p *pass[T]) freed(written map[plan.ID]bool) bool {
	ready := func(before plan.ID) bool {
		if !written[before] || p.live[before] == nil {
			return false
		}
		state, err := p.readiness(before, p.live[before])
		return err == nil && state.Kind() == outcome.KindDone
	}
	return slices.ContainsFunc(p.actions, func(a plan.Action) bool {
		return a.Verb == plan.Hold && slices.ContainsFunc(a.Options.After, ready)
	})
}

// waitsAfter is what an action leaves to wait for.
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
		return outcome.Wait(ReasonChildDeleting, fmt.Sprintf("%s is deleted to be made again: %s", done.ID(), done.Why))
	}
	return outcome.Done()
}

// lookAgain is how soon is looked after the deletion of a child that no watch has shown yet: perhaps none ever tells
// of its end.
const lookAgain = time.Second

// untold asks for another pass where it is not sure that a watch tells of what an action leads to.
func (p *pass[T]) untold(done plan.Action) outcome.Outcome {
	if (done.Verb == plan.Delete || done.Verb == plan.Replace) && p.unshown[done.ID()] {
		return outcome.Again(lookAgain)
	}
	return outcome.Done()
}

// ownerOf is the owner that an action is carried out for.
func ownerOf(action plan.Action) string {
	if action.Desired == nil {
		return action.Live.Owner
	}
	return action.Desired.GetLabels()[plan.OwnerLabel]
}

// remember takes up what there is after an action, and what was put back. Children that were
// removed on purpose are forgotten, so that they are not recreated.
func (r *Reconciler[T]) remember(p *pass[T], action, done plan.Action) {
	switch done.Verb {
	case plan.Repair, plan.Recreate, plan.Update:
		r.ledger.Repaired(p.object.GetUID(), done.ID(), r.undoes(p, action), r.Clock.Now())
	}
	switch done.Verb {
	case plan.Delete, plan.Replace, plan.Release:
		r.family.Unsee(p.request.NamespacedName, done.ID())
	case plan.Hold, plan.Await:
	default:
		p.live[done.ID()] = done.Live
		r.family.Saw(p.request.NamespacedName, done.Live)
	}
}
