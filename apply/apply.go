// Package apply carries out what a plan says: it writes children with server-side apply
// as one field manager, deletes and releases them, and remembers each write until the caches
// show it, so that the next reconcile of the same object does not decide on the state before
// its own writes.
package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/plan"
)

// Applier writes children.
type Applier struct {
	// client reads and writes without a cache.
	client  client.Client
	manager string
	*Memory
}

// New returns an applier that writes through client, which must not read from a cache, as
// the field manager.
func New(client client.Client, manager string) *Applier {
	return &Applier{client: client, manager: manager, Memory: newMemory()}
}

// Manager is the operator's field manager.
func (a *Applier) Manager() string { return a.manager }

// ConflictError says that an object is somebody else's.
type ConflictError struct {
	ID  plan.ID
	Why string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s %s; it is left alone", e.ID, e.Why)
}

// Do carries out one action and returns what came of it, which is another action where the
// API server knew better: a creation that found its name taken, or a change of what cannot
// be changed. An object that turns out to be somebody else's is left alone and makes a
// *ConflictError; a field that cannot be changed makes an *ImmutableError.
func (a *Applier) Do(ctx context.Context, action plan.Action) (plan.Action, error) {
	switch action.Verb {
	case plan.Conflict:
		return action, &ConflictError{ID: action.ID(), Why: action.Why}
	case plan.Delete:
		return action, a.delete(ctx, action.Live)
	case plan.Release:
		return action, a.release(ctx, action.Live)
	case plan.Create, plan.Recreate:
		return a.create(ctx, action)
	case plan.Update, plan.Repair, plan.Adopt:
		return a.change(ctx, action)
	}
	return action, nil // Keep, Await, Hold: nothing, or nothing yet
}

// neverRevision is a resource version that no object has: the first write to a store makes
// a later one.
const neverRevision = "1"

// create applies a child whose name should be free. The caches hold only what carries the
// owner's label, and server-side apply would take over what does not. A resource version
// that no object has makes the API server refuse that, where a look beforehand would cost a
// request for each child and leave a gap.
func (a *Applier) create(ctx context.Context, action plan.Action) (plan.Action, error) {
	guarded := action.Desired.DeepCopy()
	guarded.SetResourceVersion(neverRevision)
	err := a.send(ctx, action.Desired, guarded)
	if !apierrors.IsConflict(err) {
		return action, err
	}
	return a.occupied(ctx, action)
}

// occupied looks at the object that holds the name of a child: it is ours, if the caches lag
// behind or an earlier process made it, or somebody else's.
func (a *Applier) occupied(ctx context.Context, action plan.Action) (plan.Action, error) {
	child, id := action.Desired, action.ID()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(child.GroupVersionKind())
	if err := a.client.Get(ctx, client.ObjectKeyFromObject(child), live); err != nil {
		return action, fmt.Errorf("look at %s: %w", id, err)
	}
	action.Options.After = nil // they were ready for the creation
	again := plan.Make(plan.Input{
		Owner:   child.GetLabels()[plan.OwnerLabel],
		Manager: a.manager,
		Desired: []*unstructured.Unstructured{child},
		Live:    map[plan.ID]*unstructured.Unstructured{id: live},
		Options: map[plan.ID]plan.Options{id: action.Options},
	})[0]
	if again.Verb == plan.Keep {
		a.wrote(live)
	}
	return a.Do(ctx, again)
}

// change applies a child over what is there.
func (a *Applier) change(ctx context.Context, action plan.Action) (plan.Action, error) {
	err := a.send(ctx, action.Desired, action.Desired.DeepCopy())
	if !apierrors.IsInvalid(err) {
		return action, err
	}
	return a.refused(ctx, action, err)
}

// send applies a child in a form, which becomes the server's answer.
func (a *Applier) send(ctx context.Context, child, form *unstructured.Unstructured) error {
	err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(form), client.FieldOwner(a.manager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s: %w", plan.Of(child), err)
	}
	a.wrote(form)
	return nil
}

func (a *Applier) delete(ctx context.Context, live *unstructured.Unstructured) error {
	uid := live.GetUID()
	err := a.client.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", plan.Of(live), err)
	}
	a.deleted(live)
	return nil
}
