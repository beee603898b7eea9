package operon

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/operon-framework/operon/internal/runtime/action"
	"github.com/operon-framework/operon/internal/runtime/queue"
)

// Act is one deed as the code that does it sees it: its parameters and artifacts, and the run whose
// steps it takes.
type Act = action.Act

// Action does a deed on an object, in the steps of act.Run: see package durable. The object is as the
// operator's cache has it; where it went while the Action was at work, it has its name alone, and
// the steps are undone.
type Action[T client.Object] func(ctx context.Context, object T, act *Act) error

// Actions are what can be done on the objects of a kind, by name.
type Actions[T client.Object] map[string]Action[T]

// Actor is a composer that offers actions on its objects: backup, restore, rotate. Users ask for one
// by an object of the kind Action of actions.operon.dev, or by an ActionSchedule. The operator serves
// those that are about its own kinds; it needs the CustomResourceDefinitions of package
// api/actions/v1alpha1, and the permissions that docs/runtime/steps.md lists.
type Actor[T client.Object] interface {
	Actions() Actions[T]
}

// offerOf is what a composer offers to do on its objects.
func offerOf[T client.Object](composer Composer[T]) action.Offer {
	offer := action.Offer{
		New: func() client.Object { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) },
		Do:  map[string]func(context.Context, client.Object, *Act) error{},
	}
	if actor, acts := any(composer).(Actor[T]); acts {
		for name, do := range actor.Actions() {
			offer.Do[name] = func(ctx context.Context, target client.Object, act *Act) error { return do(ctx, target.(T), act) }
		}
	}
	return offer
}

// offer takes note of what can be done on the objects of a kind.
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

// act serves the Actions on what the operator manages, if it offers any.
func (o *operator) act() error {
	if len(o.offers) == 0 {
		return nil
	}
	runner := action.NewRunner(o.offers, o.manager.GetClient())
	if o.member != nil {
		runner = action.NewSharedRunner(o.offers, o.direct) // the cache has only what is this replica's
	}
	settings := manageSettings{
		concurrency: concurrency, rate: queue.DefaultRate,
		only: predicate.NewPredicateFuncs(runner.Serves),
	}
	return errors.Join(manage(o, runner, settings), manage(o, runner.Schedules(o.clock), settings))
}
