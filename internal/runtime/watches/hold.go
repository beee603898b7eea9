package watches

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// hold is what a watch makes of an object before it is kept: of a child what plans need, of
// what an author reads everything but managedFields.
func (w *watch) hold(object any) (any, error) {
	if _, held := object.(*plan.Live); held {
		return object, nil // the informer may ask twice
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

// handler queues the readers of what changed, by what it was and what it is.
func (w *watch) handler() toolscache.ResourceEventHandler {
	if w.child {
		return toolscache.ResourceEventHandlerDetailedFuncs{AddFunc: w.childAdded, UpdateFunc: w.childUpdated, DeleteFunc: w.childDeleted}
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, first bool) {
			if !first { // what was there when the watch began, its readers have read
				w.changed(appeared, o)
			}
		},
		UpdateFunc: func(before, after any) { w.changed(changed, before, after) },
		DeleteFunc: func(o any) { w.changed(gone, end(o)) },
	}
}

// end is the last known state of what was deleted.
func end(o any) any {
	if tombstone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return o
}

func (w *watch) childAdded(o any, first bool) {
	live, ok := o.(*plan.Live)
	if ok && w.tracker.Memory.Seen(live, func() { w.changed(appeared, live) }) != apply.Known && !first {
		w.changed(appeared, live)
	}
}

// childUpdated tells nobody of what makes no difference to a plan, nor of what the operator
// wrote itself: the reconcile that wrote it has gone on with the answer.
func (w *watch) childUpdated(o, n any) {
	before, ok := o.(*plan.Live)
	after, also := n.(*plan.Live)
	if !ok || !also {
		return
	}
	switch w.tracker.Memory.Seen(after, func() { w.changed(changed, before, after) }) {
	case apply.Known:
		return
	case apply.Unwritten:
		if before.SameAs(after, w.tracker.Manager) {
			return
		}
	}
	w.changed(changed, before, after)
}

func (w *watch) childDeleted(o any) {
	if live, ok := end(o).(*plan.Live); ok {
		w.tracker.Memory.Gone(live)
		w.changed(gone, live)
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
				readers = append(readers, w.readers[index]...)
			}
			seen[index] = true
		}
	}
	w.tracker.mu.Unlock()
	if len(readers) > 0 {
		tell(readers, w.causeOf(what, states))
	}
}
