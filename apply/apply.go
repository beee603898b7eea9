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
		if err := a.mayCreate(ctx, action.Desired); err != nil {
			return err
		}
	}
	return a.apply(ctx, action.Desired)
}

// mayCreate asks the server itself whether the name is free: the caches hold only what
// carries the owner's label, and server-side apply would take over what does not.
func (a *Applier) mayCreate(ctx context.Context, child *unstructured.Unstructured) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(child.GroupVersionKind())
	err := a.client.Get(ctx, client.ObjectKeyFromObject(child), live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	owner := child.GetLabels()[plan.OwnerLabel]
	in := plan.Input{Owner: owner, Desired: []*unstructured.Unstructured{child}, Live: map[plan.ID]*unstructured.Unstructured{plan.Of(child): live}}
	if action := plan.Make(in)[0]; action.Verb == plan.Conflict {
		return &ConflictError{ID: action.ID(), Why: action.Why}
	}
	return nil
}

func (a *Applier) apply(ctx context.Context, child *unstructured.Unstructured) error {
	result := child.DeepCopy()
	err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(result), client.FieldOwner(a.manager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s: %w", plan.Of(child), err)
	}
	a.wrote(child, result, a.manager)
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
