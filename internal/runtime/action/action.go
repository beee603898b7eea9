package action

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/durable/journal"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// Context is passed to an action.
type Context struct {
	*durable.Run
	// Name of the Action.
	Name string
	// Parameters of the Action.
	Parameters map[string]string
	// Artifacts are the artifacts of the Action that spec.artifactsFrom names, as they were when this Action began.
	Artifacts map[string]string
}

// Offer contains the actions for the objects of one kind.
type Offer struct {
	// New returns an empty object of the kind.
	New func() client.Object
	// Do contains the functions of the actions, by name.
	Do map[string]func(ctx context.Context, target client.Object, act *Context) error
}

// Runner composes Actions by executing them.
type Runner struct {
	offers  map[schema.GroupKind]Offer
	turns   turns
	running running
}

// NewRunner returns a runner for the actions that are offered for kinds. reader reads Actions from the operator's caches,
// which contain all Actions.
func NewRunner(offers map[schema.GroupKind]Offer, reader client.Reader) *Runner {
	return &Runner{offers: offers, turns: &alone{reader: reader, taken: map[taken]types.UID{}}}
}

// NewSharedRunner returns a runner for an operator in which several replicas serve Actions. Actions on one target may be
// served by different replicas. The client has no cache.
func NewSharedRunner(offers map[schema.GroupKind]Offer, direct client.Client) *Runner {
	return &Runner{offers: offers, turns: &shared{direct}}
}

// Serves reports whether the target of an Action or ActionSchedule has a kind of this operator. Others belong to other
// operators.
func (r *Runner) Serves(object client.Object) bool {
	var target v1alpha1.Target
	switch o := object.(type) {
	case *v1alpha1.Action:
		target = o.Spec.Target
	case *v1alpha1.ActionSchedule:
		target = o.Spec.Template.Target
	}
	_, ok := r.offers[target.GroupKind()]
	return ok
}

// Roles returns the roles of a composer of Actions, which have no children.
func (r *Runner) Roles() author.Roles[*v1alpha1.Action] {
	return author.Roles[*v1alpha1.Action]{
		Compose:     func(context.Context, *v1alpha1.Action, *author.Composition) error { return nil },
		RunWorkflow: r.run,
		Canceled:    canceled,
	}
}

func canceled(a *v1alpha1.Action) string {
	if a.Spec.Cancel {
		return "spec.cancel is true"
	}
	return ""
}

// order is the input of an Action. It is recorded when the Action begins, and does not change afterwards.
type order struct {
	Parameters map[string]string `json:"parameters,omitempty"`
	Artifacts  map[string]string `json:"artifacts,omitempty"`
	// Target is the UID of the object: another object with the same name is not the target.
	Target types.UID `json:"target"`
}

// run executes an Action.
func (r *Runner) run(ctx context.Context, a *v1alpha1.Action, run *durable.Run) error {
	if j := run.Journal(); j != nil && j.Phase.Over() {
		return nil // regardless of what has happened to its target since
	}
	defer r.running.end(a)
	offer := r.offers[a.Spec.Target.GroupKind()]
	do := offer.Do[a.Spec.Action]
	if do == nil {
		return fmt.Errorf("kind %s has no action %q, only %s", a.Spec.Target.Kind, a.Spec.Action,
			strings.Join(slices.Sorted(maps.Keys(offer.Do)), ", "))
	}
	given, begun, err := durable.Current[order](run)
	if err != nil {
		return err
	}
	if j := run.Journal(); !begun && j != nil && j.Phase != journal.Running {
		return nil // canceled before it began
	}
	target := named(offer, a)
	there, err := run.Get(ctx, target) // and watched: otherwise a waiting Action would not notice that its target was deleted
	if err != nil {
		return run.Retry(err)
	}
	if begun {
		if !there || target.GetUID() != given.Target {
			run.Cancel(fmt.Sprintf("%s %s is gone", a.Spec.Target.Kind, a.Spec.Target.Name))
			target = named(offer, a) // another object with the same name is not the target
		}
		err = r.running.begin(a, run)
	} else {
		given, err = r.begin(ctx, a, run, target, there)
	}
	if err != nil {
		return err
	}
	return do(ctx, target, &Context{Run: run, Name: a.Name, Parameters: given.Parameters, Artifacts: given.Artifacts})
}

// named returns the target of an Action with nothing but its name.
func named(offer Offer, a *v1alpha1.Action) client.Object {
	target := offer.New()
	target.SetNamespace(a.Namespace)
	target.SetName(a.Spec.Target.Name)
	return target
}

// begin records the input of an Action when it is the Action's turn.
func (r *Runner) begin(ctx context.Context, a *v1alpha1.Action, run *durable.Run, target client.Object, there bool) (order, error) {
	given, err := r.order(ctx, a, run, target, there)
	if err != nil {
		if failed := r.turns.leave(ctx, a); failed != nil {
			return given, run.Retry(failed)
		}
		return given, err
	}
	if err := r.turns.take(ctx, a, run); err != nil {
		return given, err
	}
	if err := r.running.begin(a, run); err != nil {
		return given, err
	}
	return durable.Begin(run, given)
}

// order returns the input of an Action. The Action may have to wait for it.
func (r *Runner) order(ctx context.Context, a *v1alpha1.Action, run *durable.Run, target client.Object, there bool) (order, error) {
	given := order{Parameters: map[string]string{}, Target: target.GetUID()}
	for name, value := range a.Spec.Parameters {
		given.Parameters[name] = string(value)
	}
	if !there {
		return given, run.Wait(fmt.Sprintf("there is no %s %s", a.Spec.Target.Kind, a.Spec.Target.Name))
	}
	return given, r.take(ctx, a, run, &given)
}

// take copies the artifacts of the Action that spec.artifactsFrom names.
func (r *Runner) take(ctx context.Context, a *v1alpha1.Action, run *durable.Run, given *order) error {
	if a.Spec.ArtifactsFrom == "" {
		return nil
	}
	from := &v1alpha1.Action{}
	from.SetName(a.Spec.ArtifactsFrom)
	found, err := run.Get(ctx, from)
	if err != nil {
		return run.Retry(err)
	}
	if !found {
		return run.Wait(fmt.Sprintf("there is no Action %s to take artifacts from", a.Spec.ArtifactsFrom))
	}
	if why := unreadable(from); why != "" {
		return run.Wait(fmt.Sprintf("the Action %s, whose artifacts it needs, cannot be read: its journal %s", from.Name, why))
	}
	j := from.Status.Journal
	if j == nil || !j.Phase.Over() {
		return run.Wait(fmt.Sprintf("the Action %s, whose artifacts it needs, has not finished", from.Name))
	}
	if j.Phase != journal.Succeeded {
		return fmt.Errorf("the Action %s has no artifacts to take: it is %s", from.Name, j.Phase)
	}
	given.Artifacts = j.Artifacts
	return nil
}

// over reports whether an Action has ended, even if its journal cannot be read.
func over(a *v1alpha1.Action) bool {
	_, ended := journal.EndOf(a.Status.Journal)
	return ended
}

// unreadable returns why the journal of an Action cannot be read, or "".
func unreadable(a *v1alpha1.Action) string {
	if a.Status.Journal == nil {
		return ""
	}
	if err, ok := errors.AsType[*journal.UnreadableError](a.Status.Journal.Check()); ok {
		return err.Why
	}
	return ""
}
