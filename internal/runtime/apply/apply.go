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
	"github.com/operon-framework/operon/internal/core/yamlsafe"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Config of an applier. All fields except Fenced are required.
type Config struct {
	// Client reads and writes without a cache.
	Client client.Client
	// Endpoints writes children.
	Endpoints Endpoints
	// Manager is the operator's field manager.
	Manager string
	// Writes to children are held in the operator's ledger, shared by its kinds.
	Writes *freshness.Children
	// Children returns how children of a kind are read and stored.
	Children func(schema.GroupVersionKind) resourceclient.Children
	// Fenced means that the owner may belong to another process by now. Each write then names the version of its child, so
	// that the API server rejects it if a later version exists.
	Fenced bool
}

// Endpoints returns the endpoint for the children of a kind; *resourceclient.Wire implements it.
type Endpoints interface {
	Children(resourceclient.Children) (resourceclient.Endpoint, error)
}

// childFlight is a write to a child that is in flight.
type childFlight = freshness.Flight[plan.ID, *plan.Live]

// Applier writes children.
type Applier struct{ Config }

// New returns an applier.
func New(cfg Config) *Applier { return &Applier{Config: cfg} }

// ConflictError reports that an object belongs to another client.
type ConflictError struct {
	ID  plan.ID
	Why string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s %s; it is left alone", e.ID, e.Why)
}

// ChangedError reports that a child was declared from a version of the object that is not its newest.
type ChangedError struct{ ID plan.ID }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s has changed since it was read", e.ID)
}

// Do executes one action and returns its result, with the current state of the child as its Live. The returned action may
// differ from the given one: if the name of a child to create was taken, or if an immutable field would have to change. An
// object that belongs to another client is not changed and results in a *ConflictError; an immutable field results in an
// *ImmutableError, and a resource version that is not the newest in a *ChangedError.
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
	return action, nil // Keep, Await, Hold: nothing to do, or not yet
}

// neverRevision is a resource version that no object has: the first write to a store creates a later one.
const neverRevision = "1"

// create applies a child whose name should be free. The caches contain only objects with the owner's label, and server-side
// apply would take over an object without it. With a resource version that no object has, the API server rejects that.
// Checking first would cost a request for each child, and would be subject to a race.
func (a *Applier) create(ctx context.Context, action plan.Action) (plan.Action, error) {
	if action.Desired.GetResourceVersion() != "" { // it was declared from an object that existed
		return a.occupied(ctx, action)
	}
	guarded := action.Desired.DeepCopy()
	guarded.SetResourceVersion(neverRevision)
	live, err := a.send(ctx, guarded)
	if apierrors.IsConflict(err) {
		return a.occupied(ctx, action)
	}
	action.Live = live
	return action, err
}

// occupied reads the object that has the name of a child. It is ours if the caches are stale or an earlier process created
// it. Otherwise it belongs to another client.
func (a *Applier) occupied(ctx context.Context, action plan.Action) (plan.Action, error) {
	child, id := action.Desired, action.ID()
	reading := a.Writes.Begin(id, 0) // states that are read without a cache are stored in the ledger like writes
	live, err := a.get(ctx, child)
	if err != nil {
		reading.Failed()
	}
	if apierrors.IsNotFound(err) && child.GetResourceVersion() != "" {
		return action, &ChangedError{id}
	}
	if err != nil {
		return action, fmt.Errorf("look at %s: %w", id, err)
	}
	return a.again(ctx, action, live, reading)
}

// again plans an action again for the state that was read, and executes the result.
func (a *Applier) again(ctx context.Context, action plan.Action, live *plan.Live, reading *childFlight) (plan.Action, error) {
	child, id := action.Desired, action.ID()
	action.Options.After = nil // these objects were ready before
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

// change applies a child that exists.
func (a *Applier) change(ctx context.Context, action plan.Action) (plan.Action, error) {
	live, err := a.send(ctx, a.fenced(action))
	if apierrors.IsConflict(err) && action.Desired.GetResourceVersion() != "" {
		return action, &ChangedError{action.ID()}
	}
	if apierrors.IsConflict(err) || isAnother(err) {
		return a.overtaken(ctx, action, err)
	}
	if apierrors.IsInvalid(err) {
		return a.refused(ctx, action, err)
	}
	if err == nil {
		action.Live = live
	}
	return action, err
}

// send applies a child and returns the result.
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
	answer, err := endpoint.Apply(ctx, child.GetNamespace(), child.GetName(), yamlsafe.JSON(body), metav1.PatchOptions{FieldManager: a.Manager, Force: new(true)})
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

// get reads the object with the name of a child, bypassing all caches.
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

// Read reads a child, bypassing all caches. If the child does not exist, it returns the API server's error.
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
	// The response is the whole object if it has finalizers, and no scheme may contain its kind.
	err := a.Client.Delete(ctx, bare(live), client.PropagationPolicy(policy), a.only(live))
	if a.Fenced && apierrors.IsConflict(err) {
		write.Failed()
		return a.withNewest(ctx, live, func(newest *plan.Live) error { return a.delete(ctx, newest, policy) })
	}
	if err != nil {
		write.Failed() // if the object is already gone, a watch may have shown its end
		return client.IgnoreNotFound(fmt.Errorf("delete %s: %w", live.ID(), err))
	}
	write.Deleted(live)
	return nil
}

// bare returns an object that has only a kind, a namespace and a name.
func bare(live *plan.Live) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(live.Kind)
	object.SetNamespace(live.Namespace)
	object.SetName(live.Name)
	return object
}
