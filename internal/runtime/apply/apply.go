// Package apply executes a plan: it writes children with server-side apply as one field manager, deletes and
// releases them, and remembers each write until the caches show it, so that the next reconcile of the same object
// does not decide on the state before its own writes.
package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Config of an applier. All fields are required but Fenced.
type Config struct {
	// Client reads and writes without a cache.
	Client client.Client
	// Endpoints writes children.
	Endpoints Endpoints
	// Manager is the operator's field manager.
	Manager string
	// Writes to children are held in the operator's ledger, shared by its kinds.
	Writes *freshness.Children
	// Children says how children of a kind are kept.
	Children func(schema.GroupVersionKind) resourceclient.Children
	// Fenced: another process may have become the owner's, so that every write is of a version of
	// its child, which the API server refuses when there is a later one.
	Fenced bool
}

// Endpoints tells how to reach the children of a kind; *wire.Wire does.
type Endpoints interface {
	Children(resourceclient.Children) (resourceclient.Endpoint, error)
}

// childFlight is a write to a child that is in flight.
type childFlight = freshness.Flight[plan.ID, *plan.Live]

// Applier writes children.
type Applier struct{ Config }

// New returns an applier.
func New(cfg Config) *Applier { return &Applier{Config: cfg} }

// ConflictError reports that an object is another client's.
type ConflictError struct {
	ID  plan.ID
	Why string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s %s; it is left alone", e.ID, e.Why)
}

// Do executes one action and returns what came of it, with what is there now as its Live.
// It is another action where the API server knew better: a creation that found its name
// taken, or a change of what cannot be changed. An object that turns out to be another client's is left alone and makes a
// *ConflictError; a field that cannot be changed makes an *ImmutableError.
func (a *Applier) Do(ctx context.Context, action plan.Action) (plan.Action, error) {
	switch action.Verb {
	case plan.Conflict:
		return action, &ConflictError{ID: action.ID(), Why: action.Why}
	case plan.Delete:
		return action, a.delete(ctx, action.Live, metav1.DeletePropagationBackground)
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
	live, err := a.send(ctx, guarded)
	if apierrors.IsConflict(err) {
		return a.occupied(ctx, action)
	}
	action.Live = live
	return action, err
}

// occupied looks at the object that holds the name of a child: it is ours, if the caches lag
// behind or an earlier process made it, or another client's.
func (a *Applier) occupied(ctx context.Context, action plan.Action) (plan.Action, error) {
	child, id := action.Desired, action.ID()
	reading := a.Writes.Begin(id, 0) // what is read past all caches is held as writes are
	live, err := a.get(ctx, child)
	if err != nil {
		reading.Failed()
		return action, fmt.Errorf("look at %s: %w", id, err)
	}
	return a.again(ctx, action, live, reading)
}

// again plans an action again on what was read, and does that.
func (a *Applier) again(ctx context.Context, action plan.Action, live *plan.Live, reading *childFlight) (plan.Action, error) {
	child, id := action.Desired, action.ID()
	action.Options.After = nil // they were ready before
	again := plan.Make(plan.Input{
		Owner:   child.GetLabels()[plan.OwnerLabel],
		Manager: a.Manager,
		Desired: []*unstructured.Unstructured{child},
		Live:    map[plan.ID]*plan.Live{id: live},
		Options: map[plan.ID]plan.Options{id: action.Options},
	})[0]
	if again.Verb == plan.Keep {
		reading.Wrote(live)
		return again, nil
	}
	reading.Failed()
	return a.Do(ctx, again)
}

// change applies a child over what is there.
func (a *Applier) change(ctx context.Context, action plan.Action) (plan.Action, error) {
	live, err := a.send(ctx, a.fenced(action))
	if a.Fenced && apierrors.IsConflict(err) {
		return a.overtaken(ctx, action)
	}
	if apierrors.IsInvalid(err) {
		return a.refused(ctx, action, err)
	}
	if err == nil {
		action.Live = live
	}
	return action, err
}

// send applies a child and returns the result of it.
func (a *Applier) send(ctx context.Context, child *unstructured.Unstructured) (*plan.Live, error) {
	form, endpoint, err := a.endpoint(child)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(child.Object)
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", plan.Of(child), err)
	}
	write := a.Writes.Begin(plan.Of(child), 0)
	answer, err := endpoint.Apply(ctx, child.GetNamespace(), child.GetName(), body, metav1.PatchOptions{FieldManager: a.Manager, Force: new(true)})
	if err != nil {
		write.Failed()
		return nil, fmt.Errorf("apply %s: %w", plan.Of(child), err)
	}
	live, err := form.Live(answer, a.Manager)
	if err != nil {
		write.Failed()
		return nil, err
	}
	write.Wrote(live)
	return live, nil
}

// get reads what is there under a child's name, past all caches.
func (a *Applier) get(ctx context.Context, child *unstructured.Unstructured) (*plan.Live, error) {
	form, endpoint, err := a.endpoint(child)
	if err != nil {
		return nil, err
	}
	found, err := endpoint.Get(ctx, child.GetNamespace(), child.GetName())
	if err != nil {
		return nil, err
	}
	return form.Live(found, a.Manager)
}

// Read reads a child past all caches. One that is not there is the API server's error.
func (a *Applier) Read(ctx context.Context, live *plan.Live) (*plan.Live, error) {
	return a.get(ctx, bare(live))
}

func (a *Applier) endpoint(child *unstructured.Unstructured) (resourceclient.Children, resourceclient.Endpoint, error) {
	form := a.Children(child.GroupVersionKind())
	endpoint, err := a.Endpoints.Children(form)
	return form, endpoint, err
}

func (a *Applier) delete(ctx context.Context, live *plan.Live, policy metav1.DeletionPropagation) error {
	write := a.Writes.Begin(live.ID(), 0)
	// The answer is the whole object where finalizers keep it, and its kind may be in no scheme.
	err := a.Client.Delete(ctx, bare(live), client.PropagationPolicy(policy), a.only(live))
	if a.Fenced && apierrors.IsConflict(err) {
		write.Failed()
		return a.deleteNewest(ctx, live, policy)
	}
	if err != nil {
		write.Failed() // of what is gone already, a watch may have shown the end
		return client.IgnoreNotFound(fmt.Errorf("delete %s: %w", live.ID(), err))
	}
	write.Deleted(live)
	return nil
}

// bare is an object that has no more than its kind and name.
func bare(live *plan.Live) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(live.Kind)
	object.SetNamespace(live.Namespace)
	object.SetName(live.Name)
	return object
}
