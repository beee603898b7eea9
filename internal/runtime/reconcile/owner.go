package reconcile

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/core/plan"
)

// orphaned tells whether the children that are to be created again belong to an object that
// is gone. Watches of different kinds are not in step: garbage collection takes a child, and
// the watch shows that before it shows the end of the owner. To create the child again would
// leave it to be collected a second time.
func (r *Reconciler[T]) orphaned(ctx context.Context, p *pass[T]) (bool, error) {
	if !slices.ContainsFunc(p.actions, func(a plan.Action) bool { return a.Verb == plan.Recreate }) {
		return false, nil
	}
	return r.gone(ctx, p)
}

// unlessGone is the error of a write to the object's status, or nothing where the object was
// deleted meanwhile. The API server says "not found" of other things too.
func (r *Reconciler[T]) unlessGone(ctx context.Context, p *pass[T], err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	if gone, _ := r.gone(ctx, p); gone {
		return nil
	}
	return fmt.Errorf("write the status of %s, which is there; does its CRD have the subresource status? %w", r.self(p.object), err)
}

// gone asks the API server whether the object is gone, or going.
func (r *Reconciler[T]) gone(ctx context.Context, p *pass[T]) (bool, error) {
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(r.kind)
	err := r.Direct.Get(ctx, p.request.NamespacedName, now)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return false, nil // who may list and watch it need not be allowed to get it
	case err != nil:
		return false, fmt.Errorf("look whether %s is still there: %w", r.self(p.object), err)
	}
	return now.GetUID() != p.object.GetUID() || now.GetDeletionTimestamp() != nil, nil
}
