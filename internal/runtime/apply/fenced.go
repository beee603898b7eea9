package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
)

// fenced is what is applied over a child that is there: where another process may have become the
// owner's, only over the very version that was planned on.
func (a *Applier) fenced(action plan.Action) *unstructured.Unstructured {
	if !a.Fenced || action.Live == nil {
		return action.Desired
	}
	guarded := action.Desired.DeepCopy()
	guarded.SetUID(action.Live.UID)
	guarded.SetResourceVersion(action.Live.ResourceVersion)
	return guarded
}

// only is what a deletion is limited to.
func (a *Applier) only(live *plan.Live) client.Preconditions {
	if a.Fenced {
		return client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}
	}
	return client.Preconditions{UID: &live.UID}
}

// overtaken plans a change again that somebody's write came before: a controller's, of the child's
// status, or the next owner's. If it is the next owner, the look or the write is not sent any more.
func (a *Applier) overtaken(ctx context.Context, action plan.Action) (plan.Action, error) {
	reading := a.Writes.Begin(action.ID(), 0)
	live, err := a.get(ctx, action.Desired)
	if err != nil {
		reading.Failed()
	}
	if apierrors.IsNotFound(err) {
		action.Verb, action.Live = plan.Recreate, nil
		action.Why = "was deleted"
		return a.create(ctx, action)
	}
	if err != nil {
		return action, fmt.Errorf("look at %s: %w", action.ID(), err)
	}
	return a.again(ctx, action, live, reading)
}

// deleteNewest deletes a child that was written since it was looked at, if it is the owner's still.
func (a *Applier) deleteNewest(ctx context.Context, live *plan.Live, policy metav1.DeletionPropagation) error {
	newest, err := a.Read(ctx, live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("look at %s: %w", live.ID(), err)
	}
	if err != nil || newest.UID != live.UID || newest.Owner != live.Owner {
		return nil // what was to go is gone
	}
	return a.delete(ctx, newest, policy)
}
