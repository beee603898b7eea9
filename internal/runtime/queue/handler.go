package queue

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"k8s.io/client-go/util/workqueue"

	"github.com/operon-framework/operon/internal/core/trigger"
)

// Handler returns the event handler of the managed objects: it records why an object is reconciled, and queues
// it. An update that isOwn reports to be the operator's own write is not queued. Every update and deletion is shown
// to seen first.
func (t *Triggers) Handler(seen func(object client.Object, gone bool), isOwn func(before, after client.Object) bool) handler.EventHandler {
	queue := func(to workqueue.TypedRateLimitingInterface[reconcile.Request], object client.Object, kind trigger.Kind) {
		key := client.ObjectKeyFromObject(object)
		t.Add(key, trigger.Cause{Kind: kind, At: time.Now()})
		to.Add(reconcile.Request{NamespacedName: key})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, to workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			kind := trigger.Created
			if e.IsInInitialList {
				kind = trigger.OperatorStarted
			}
			queue(to, e.Object, kind)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, to workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if e.ObjectOld.GetUID() != e.ObjectNew.GetUID() { // a watch that was interrupted shows a deletion and a creation as one change
				seen(e.ObjectOld, true)
			}
			seen(e.ObjectNew, false)
			if !isOwn(e.ObjectOld, e.ObjectNew) {
				queue(to, e.ObjectNew, changeOf(e.ObjectOld, e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, to workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			seen(e.Object, true)
			queue(to, e.Object, trigger.Deleted)
		},
	}
}
