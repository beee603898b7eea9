package operon

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
	"github.com/operon-framework/operon/internal/runtime/action"
	"github.com/operon-framework/operon/internal/runtime/queue"
)

// ActionContext is the context of an action: its parameters and artifacts, and the run of its durable steps.
type ActionContext struct {
	*durable.Run
	// Name is the name of the Action object.
	Name string
	// Parameters are the parameters of the Action object.
	Parameters map[string]string
	// Artifacts are the artifacts of the Action that spec.artifactsFrom names, as they were when this Action started.
	Artifacts map[string]string
}

// Action does something to an object, such as a backup, in the steps of act.Run: see package durable. The object is
// the cached one. If it was deleted while the action was running, only its name is set, even if another object of that
// name exists now, and the steps are undone.
type Action[T client.Object] func(ctx context.Context, object T, act *ActionContext) error

// Actions are the actions that the objects of a kind offer, by name.
type Actions[T client.Object] map[string]Action[T]

// ActionHandler is a Composer that offers actions on its objects: backup, restore, rotate. Users request one by
// creating an object of the kind Action of actions.operon.dev, or an ActionSchedule. The operator runs the actions on
// its own kinds. It needs the CRDs of package api/actions/v1alpha1; `operon generate` derives the permissions.
type ActionHandler[T client.Object] interface {
	// Actions returns the actions by name. It is called once, when the operator starts.
	Actions() Actions[T]
}

// offerOf returns the actions that a composer offers on its objects.
func offerOf[T client.Object](composer Composer[T]) action.Offer {
	offer := action.Offer{
		New: func() client.Object { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) },
		Do:  map[string]func(context.Context, client.Object, *action.Context) error{},
	}
	if handler, acts := any(composer).(ActionHandler[T]); acts {
		for name, do := range handler.Actions() {
			offer.Do[name] = func(ctx context.Context, target client.Object, act *action.Context) error {
				return do(ctx, target.(T), (*ActionContext)(act))
			}
		}
	}
	return offer
}

// offer records the actions on the objects of a kind.
func (o *operator) offer(kind schema.GroupKind, offer action.Offer) error {
	for name, do := range offer.Do {
		if name == "" || do == nil {
			return fmt.Errorf("Actions: the action %q has no name or no function", name)
		}
	}
	if len(offer.Do) > 0 {
		o.offers[kind] = offer
	}
	return nil
}

// act serves Actions on the managed kinds, if any of them offers actions.
func (o *operator) act() error {
	if len(o.offers) == 0 {
		return nil
	}
	runner := action.NewRunner(o.offers, o.manager.GetClient())
	if o.member != nil {
		runner = action.NewSharedRunner(o.offers, o.direct) // the cache contains only the objects of this replica
	}
	settings := manageSettings{
		concurrency: concurrency, rate: queue.DefaultRate,
		only: runner.Serves,
	}
	return errors.Join(manage(o, runner.Roles(), settings), manage(o, runner.Schedules(o.clock).Roles(), settings))
}
