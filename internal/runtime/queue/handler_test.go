package queue

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operon-framework/operon/internal/core/trigger"
)

// Every event of an object is recorded before the object is queued for it; the operator's own write is shown, and queues
// nothing.
func TestHandlerRecordsTriggers(t *testing.T) {
	t.Parallel()
	var triggers Triggers
	shown, gone := 0, 0
	handler := triggers.Handler(
		func(_ client.Object, deleted bool) {
			shown++
			if deleted {
				gone++
			}
		},
		func(_, after client.Object) bool { return after.GetResourceVersion() == "own" },
	)
	object := func(version string, generation int64) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "u", ResourceVersion: version, Generation: generation}}
	}
	work := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(work.ShutDown)
	key := types.NamespacedName{Namespace: "a", Name: "b"}
	events := []struct {
		name string
		send func()
		want trigger.Kind // empty: the object is not queued
	}{
		{"the first list", func() {
			handler.Create(t.Context(), event.CreateEvent{Object: object("1", 1), IsInInitialList: true}, work)
		}, trigger.OperatorStarted},
		{"a creation", func() { handler.Create(t.Context(), event.CreateEvent{Object: object("1", 1)}, work) }, trigger.Created},
		{"a change of the spec", func() {
			handler.Update(t.Context(), event.UpdateEvent{ObjectOld: object("1", 1), ObjectNew: object("2", 2)}, work)
		}, trigger.SpecChanged},
		{"an own write", func() {
			handler.Update(t.Context(), event.UpdateEvent{ObjectOld: object("2", 2), ObjectNew: object("own", 2)}, work)
		}, ""},
		{"another object of this name", func() {
			other := object("3", 2)
			other.UID = "v"
			handler.Update(t.Context(), event.UpdateEvent{ObjectOld: object("2", 2), ObjectNew: other}, work)
		}, trigger.Created},
		{"a deletion", func() { handler.Delete(t.Context(), event.DeleteEvent{Object: object("3", 2)}, work) }, trigger.Deleted},
	}
	for _, e := range events {
		e.send()
		if queued := work.Len() > 0; queued != (e.want != "") {
			t.Errorf("%s: queued is %v", e.name, queued)
			continue
		}
		if e.want == "" {
			continue
		}
		request, _ := work.Get()
		work.Done(request)
		if causes := triggers.Take(key, metav1.Now().Time).Causes; request.NamespacedName != key || len(causes) != 1 || causes[0].Kind != e.want {
			t.Errorf("%s: %v is queued for %v, want %s", e.name, request, causes, e.want)
		}
	}
	if shown != 5 || gone != 2 {
		t.Errorf("%d objects were shown, %d of them as deleted, want 5 and 2", shown, gone)
	}
}
