package reconcile

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Observed is what an observer can see. What it reads is watched: the object is reconciled
// again when that changes.
type Observed struct {
	reading
	child func(context.Context, client.Object) (runtime.Object, error)
}

// Child reads the live state of a child that was composed, by its kind and name, into
// object. It returns false while the child is not there. Of the kinds that are read so,
// whole objects are held in memory; of others, what plans need.
func (o *Observed) Child(ctx context.Context, object client.Object) (bool, error) {
	live, err := o.child(ctx, object)
	if err != nil || live == nil {
		return false, err
	}
	return true, resourceclient.Copy(live.DeepCopyObject(), object)
}

// observed is what the observer of a pass sees.
func (r *Reconciler[T]) observed(p *pass[T]) *Observed {
	return &Observed{
		reading: reading{reads: p.reads, owner: p.object, outside: p.known},
		child: func(ctx context.Context, object client.Object) (runtime.Object, error) {
			return r.childOf(ctx, p, object)
		},
	}
}

// childOf returns a child as a whole, or nil.
func (r *Reconciler[T]) childOf(ctx context.Context, p *pass[T], object client.Object) (runtime.Object, error) {
	id, err := r.applier.Identify(p.object, object)
	if err != nil {
		return nil, err
	}
	live := p.live[id]
	if live == nil {
		return nil, nil
	}
	if live.Object == nil {
		if live, err = r.readWhole(ctx, p, live); err != nil || live == nil {
			return nil, err
		}
	}
	return live.Object, nil
}

// readWhole reads a child of a kind of which nobody read whole objects until now. From now
// on they are watched as a whole.
func (r *Reconciler[T]) readWhole(ctx context.Context, p *pass[T], live *plan.Live) (*plan.Live, error) {
	r.whole.Store(live.Kind, true)
	writes := r.Memory.View()
	defer writes.End()
	if err := r.lookFor(ctx, p, writes, live.Kind); err != nil {
		return nil, err
	}
	if found := p.live[live.ID()]; found.Object != nil {
		return found, nil
	}
	// We wrote it, and the watch has not shown it yet.
	found, err := r.applier.Read(ctx, live)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read %s: %w", live.ID(), err)
	}
	return found, nil
}
