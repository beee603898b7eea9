package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
)

// fenced returns the object to apply to an existing child: only to the object for which the action was planned, and not to another
// client's object that has taken its name since. If the owner may belong to another process, it applies only to the
// version for which the action was planned, or which the child names.
func (a *Applier) fenced(action plan.Action) *unstructured.Unstructured {
	if action.Live == nil || action.Desired.GetResourceVersion() != "" {
		return action.Desired
	}
	guarded := action.Desired.DeepCopy()
	guarded.SetUID(action.Live.UID)
	if a.Fenced {
		guarded.SetResourceVersion(action.Live.ResourceVersion)
	}
	return guarded
}

// only returns the preconditions of a deletion.
func (a *Applier) only(live *plan.Live) client.Preconditions {
	if a.Fenced {
		return client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}
	}
	return client.Preconditions{UID: &live.UID}
}

// overtaken plans a change again after another client wrote the child, which can be a controller that writes its status, or the next
// owner, or after the child was deleted. If it was the next owner, the read or the write is not sent any more.
func (a *Applier) overtaken(ctx context.Context, action plan.Action, refused error) (plan.Action, error) {
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
	if was := action.Live; was != nil && live.UID == was.UID && (!a.Fenced || live.ResourceVersion == was.ResourceVersion) {
		reading.Wrote(live)
		return action, refused // for another reason, such as a webhook, and would be again
	}
	return a.again(ctx, action, live, reading)
}

// isAnother reports whether a change was refused because another object has the name: the API server does not change UIDs.
func isAnother(err error) bool {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// withNewest repeats the removal of a child that was written since it was read, if it still belongs to the owner.
func (a *Applier) withNewest(ctx context.Context, live *plan.Live, remove func(*plan.Live) error) error {
	newest, err := a.Read(ctx, live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("look at %s: %w", live.ID(), err)
	}
	if err != nil || newest.UID != live.UID || newest.Owner != live.Owner {
		return nil // the child to remove is already gone
	}
	return remove(newest)
}
