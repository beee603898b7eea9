package reconcile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/outcome"
	"github.com/operon-framework/operon/internal/runtime/author"
)

// fetch reads the object. The reconcile of a deleted object stops here.
func (r *Reconciler[T]) fetch(ctx context.Context, p *pass[T]) (*object[T], outcome.Outcome, error) {
	read, err := NewObject[T](r.kind)
	if err != nil {
		return nil, outcome.Done(), err
	}
	err = r.Client.Get(ctx, p.request.NamespacedName, read)
	if apierrors.IsNotFound(err) {
		forget(r, p)
		return nil, outcome.Stop(0), nil
	}
	if err != nil {
		return nil, outcome.Done(), err
	}
	if r.Selected != nil && !r.Selected(read) {
		forget(r, p)
		return nil, outcome.Stop(0), nil
	}
	object := objectOf(r, p, read)
	p.known.becomes(read.GetUID())
	if r.Mine != nil && !r.Mine(ctx, read.GetUID()) {
		return object, outcome.Stop(0), nil
	}
	return object, outcome.Done(), fill(ctx, r.Roles, object)
}

// fill sets the defaults that the object was stored without. An object that is being deleted is not changed.
func fill[T client.Object](ctx context.Context, roles author.Roles[T], object *object[T]) error {
	if roles.Default == nil || object.deleting() {
		return nil
	}
	if err := roles.Default(ctx, object.now); err != nil {
		return fmt.Errorf("set defaults: %w", err)
	}
	return nil
}

// forget drops the stored data of an object that was deleted, or that is no longer selected. Nothing reads for it any more.
func forget[T client.Object](r *Reconciler[T], p *pass[T]) {
	key := p.request.NamespacedName
	p.known.readiness.Forget(r.kind.Kind)
	r.objects.forget(key)
	r.keeper.Forget(key)
	p.reads.End()
}
