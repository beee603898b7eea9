// Package apply carries out the actions of a plan: server-side apply under the operator's
// one field manager, deletion by UID, and nothing else.
//
// It also remembers what it wrote until the caches have caught up, so that the next
// reconcile of the same object does not decide on the state before its own writes.
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

// Do carries out one action. An object that turns out to be somebody else's is left alone
// and makes a *ConflictError.
func (a *Applier) Do(ctx context.Context, action plan.Action) error {
	switch action.Verb {
	case plan.Keep, plan.Await:
		return nil
	case plan.Conflict:
		return &ConflictError{ID: action.ID(), Why: action.Why}
	case plan.Delete:
		return a.delete(ctx, action.Live)
	case plan.Create, plan.Recreate:
		return a.create(ctx, action.Desired)
	}
	return a.apply(ctx, action.Desired)
}

// neverRevision is a resource version that no object has: the first write to a store makes
// a later one.
const neverRevision = "1"

// create applies a child whose name should be free. The caches hold only what carries the
// owner's label, and server-side apply would take over what does not. A resource version
// that no object has makes the API server refuse that, where a look beforehand would cost a
// request for each child and leave a gap.
func (a *Applier) create(ctx context.Context, child *unstructured.Unstructured) error {
	guarded := child.DeepCopy()
	guarded.SetResourceVersion(neverRevision)
	err := a.send(ctx, child, guarded)
	if !apierrors.IsConflict(err) {
		return err
	}
	return a.occupied(ctx, child)
}

// occupied looks at the object that holds the name of a child: it is ours, if the caches lag
// behind or an earlier process made it, or somebody else's.
func (a *Applier) occupied(ctx context.Context, child *unstructured.Unstructured) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(child.GroupVersionKind())
	if err := a.client.Get(ctx, client.ObjectKeyFromObject(child), live); err != nil {
		return fmt.Errorf("look at %s: %w", plan.Of(child), err)
	}
	owner := child.GetLabels()[plan.OwnerLabel]
	in := plan.Input{Owner: owner, Manager: a.manager, Desired: []*unstructured.Unstructured{child}, Live: map[plan.ID]*unstructured.Unstructured{plan.Of(child): live}}
	return a.Do(ctx, plan.Make(in)[0])
}

func (a *Applier) apply(ctx context.Context, child *unstructured.Unstructured) error {
	return a.send(ctx, child, child.DeepCopy())
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
