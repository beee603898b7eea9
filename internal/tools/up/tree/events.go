package tree

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/operon-framework/operon/internal/tools/terminal"
)

var eventResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// watchEvents starts watching the events of a namespace.
func (w *Watcher) watchEvents(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := watched{eventResource, namespace}
	if _, there := w.stores[key]; there {
		return
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(w.client, eventResource, namespace, 0, cache.Indexers{}, nil).Informer()
	w.stores[key] = cache.NewStore(cache.MetaNamespaceKeyFunc) // marks it as watched; events are not objects of the tree
	w.events = append(w.events, informer.GetStore())
	w.start(informer, eventResource, func(*unstructured.Unstructured) {})
}

// eventsOf returns the events of all objects in trees, the newest last.
func (w *Watcher) eventsOf(roots []*Node) []Event {
	addresses := map[types.UID]string{}
	for _, root := range roots {
		note(root, addresses)
	}
	w.mu.Lock()
	stores := slices.Clone(w.events)
	w.mu.Unlock()
	var events []Event
	for _, store := range stores {
		for _, item := range store.List() {
			object, ok := item.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			uid, _, _ := unstructured.NestedString(object.Object, "involvedObject", "uid")
			if address, ours := addresses[types.UID(uid)]; ours {
				events = append(events, eventFrom(object, address))
			}
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		if byTime := a.Last.Compare(b.Last); byTime != 0 {
			return byTime
		}
		return strings.Compare(a.Object+a.Message, b.Object+b.Message)
	})
	return events
}

func note(node *Node, addresses map[types.UID]string) {
	addresses[node.Object.GetUID()] = node.Address()
	for _, child := range node.Children {
		note(child, addresses)
	}
}

// eventFrom reads an event of either API: events of the core API have lastTimestamp and count, and events of events.k8s.io
// have eventTime and a series.
func eventFrom(object *unstructured.Unstructured, address string) Event {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(object.Object, fields...)
		return value
	}
	event := Event{Object: address, Type: text("type"), Reason: terminal.Line(text("reason")), Message: terminal.Line(text("message")), Count: 1}
	for _, fields := range [][]string{{"series", "lastObservedTime"}, {"lastTimestamp"}, {"eventTime"}, {"metadata", "creationTimestamp"}} {
		if at, err := time.Parse(time.RFC3339, text(fields...)); err == nil {
			event.Last = at
			break
		}
	}
	for _, fields := range [][]string{{"series", "count"}, {"count"}} {
		if count, found, err := unstructured.NestedInt64(object.Object, fields...); found && err == nil {
			event.Count = int(count)
			break
		}
	}
	return event
}
