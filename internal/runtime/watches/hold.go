package watches

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/freshness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// hold reduces an object to what a watch holds in memory: for a child what plans need, for objects that
// an author reads everything except managedFields.
func (w *watch) hold(object any) (any, error) {
	if _, held := object.(*plan.Live); held {
		return object, nil // the informer may call it twice
	}
	came, ok := object.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("a watch of %s shows a %T", w.kind.Kind, object)
	}
	if w.child {
		return resourceclient.Children{Kind: w.kind, Whole: w.whole}.Live(came, w.tracker.Manager)
	}
	found, err := meta.Accessor(came)
	if err != nil {
		return nil, err
	}
	found.SetManagedFields(nil)
	came.GetObjectKind().SetGroupVersionKind(w.kind)
	return came, nil
}

// handler queues the readers of a changed object, by its states before and after. The store is the informer's, which runs
// until running ends.
func (w *watch) handler(running context.Context, store toolscache.Store, namespace string) toolscache.ResourceEventHandler {
	if w.child {
		shown := freshness.WatchChildren(w.tracker.Writes, store, w.covers(namespace), func(live *plan.Live) { w.changed(gone, live) })
		context.AfterFunc(running, shown.End)
		return childHandler{w, shown}
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, first bool) {
			if !first { // readers have read the objects that existed when the watch began
				w.changed(appeared, o)
			}
		},
		UpdateFunc: func(before, after any) { w.changed(changed, before, after) },
		DeleteFunc: func(o any) { w.changed(gone, freshness.Last(o)) },
	}
}

// covers returns which children the watch of a namespace delivers.
func (w *watch) covers(namespace string) func(*plan.Live) bool {
	return func(live *plan.Live) bool {
		return live.Kind.GroupKind() == w.kind.GroupKind() && (namespace == "" || namespace == live.Namespace) &&
			(w.shard == "" || w.shard == w.tracker.Shard(types.UID(live.Owner)))
	}
}

// childHandler queues the owners of children.
type childHandler struct {
	*watch
	shown *freshness.ChildWatch
}

// OnAdd implements cache.ResourceEventHandler.
func (h childHandler) OnAdd(o any, first bool) {
	if live, ok := o.(*plan.Live); ok && h.sight(live, func() { h.changed(appeared, live) }) != freshness.Known && !first {
		h.changed(appeared, live)
	}
}

// OnUpdate implements cache.ResourceEventHandler. It ignores changes that make no difference to a plan, and the operator's
// own writes: the reconcile that sent the write has continued with the response.
func (h childHandler) OnUpdate(o, n any) {
	before, ok := o.(*plan.Live)
	after, also := n.(*plan.Live)
	if !ok || !also {
		return
	}
	switch h.sight(after, func() { h.changed(changed, before, after) }) {
	case freshness.Known:
		return
	case freshness.Unwritten:
		if before.SameAs(after, h.tracker.Manager) {
			return
		}
	}
	h.changed(changed, before, after)
}

func (h childHandler) sight(live *plan.Live, tell func()) freshness.Sight {
	return h.shown.Shown(live.ID(), freshness.FormOfChild(live), tell)
}

// OnDelete implements cache.ResourceEventHandler.
func (h childHandler) OnDelete(o any) {
	if live, ok := freshness.Last(o).(*plan.Live); ok {
		h.shown.Gone(live.ID(), freshness.FormOfChild(live))
		h.changed(gone, live)
	}
}

// changed queues the readers of an object, by its states before and after.
func (w *watch) changed(what happening, states ...any) {
	seen := map[string]bool{}
	w.tracker.mu.Lock()
	var readers []reader
	for _, object := range states {
		for _, index := range w.indexes(object) {
			if !seen[index] {
				readers = append(readers, w.of(index, object)...)
			}
			seen[index] = true
		}
	}
	w.tracker.mu.Unlock()
	if len(readers) > 0 {
		tell(readers, w.causeOf(what, states))
	}
}

// of returns the readers under an index that an object concerns. The tracker's lock is held.
func (w *watch) of(at string, object any) []reader {
	live, ok := object.(*plan.Live)
	if !ok || live.Namespace == "" {
		return w.readers[at]
	}
	readers := slices.Clone(w.readers[index(live.Namespace, at)])
	for _, r := range w.readers[at] {
		if (r.Namespace == "" || r.Namespace == live.Namespace) && !slices.Contains(readers, r) {
			readers = append(readers, r)
		}
	}
	return readers
}
