package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// spot is where an object is.
type spot struct {
	resource        schema.GroupResource
	namespace, name string
}

// outside are the places out of the world's namespace that the operator or the workload wrote to: a
// world that has some cannot be beside another one.
func (w *world) outside() []spot {
	if w.proxy == nil {
		return nil
	}
	if ended := w.proxy.Record().Ended() + int64(len(w.applied)); ended != w.glance.ended {
		w.glance.ended, w.glance.places = ended, w.written()
	}
	return w.glance.places
}

// glance is what the last look at the world has shown: silence is looked for a hundred times a second,
// and mostly nothing is new.
type glance struct {
	ended   int64 // requests, and objects that the workload wrote
	places  []spot
	changes int // at the places
	last    time.Time
}

// written are the places of outside.
func (w *world) written() []spot {
	all := slices.Clone(w.applied)
	for _, r := range w.proxy.Record().Requests() {
		if !r.IsWrite() || r.Effect != requestlog.Changed || r.Namespace == w.namespace || r.Resource == "" || r.Name == "" {
			continue
		}
		at := spot{schema.GroupResource{Group: r.Group, Resource: r.Resource}, r.Namespace, r.Name}
		if !slices.Contains(all, at) && at.resource != leases && at.resource != events {
			all = append(all, at)
		}
	}
	return all
}

// What operators write besides their objects.
var (
	leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	events = schema.GroupResource{Resource: "events"}
)

// note remembers an object of the workload that is not in the world's namespace.
func (w *world) note(object *unstructured.Unstructured) error {
	_, mapping, err := w.resource(object.GroupVersionKind(), object.GetNamespace(), w.namespace)
	if err != nil {
		return err
	}
	namespace := object.GetNamespace()
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && (namespace == "" || namespace == w.namespace) {
		return nil
	}
	at := spot{mapping.Resource.GroupResource(), namespace, object.GetName()}
	if !slices.Contains(w.applied, at) {
		w.applied = append(w.applied, at)
	}
	return nil
}

// elsewhere are the objects at places out of the namespace, as they are now.
func (w *world) elsewhere() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, at := range w.outside() {
		if object := w.Witness.Object(at.resource, at.namespace, at.name); object != nil && !own(object) {
			all = append(all, object)
		}
	}
	return all
}

// lastChangeElsewhere is when something changed last at places out of the namespace.
func (w *world) lastChangeElsewhere() time.Time {
	places := w.outside()
	changes := len(places)
	for _, namespace := range namespacesOf(places) {
		changes += w.Witness.Scene(namespace).Count()
	}
	if changes == w.glance.changes {
		return w.glance.last
	}
	w.glance.changes, w.glance.last = changes, time.Time{}
	for _, change := range w.changesElsewhere() {
		w.glance.last = latest(w.glance.last, change.At)
	}
	return w.glance.last
}

// namespacesOf are the namespaces of places, each once.
func namespacesOf(places []spot) []string {
	var all []string
	for _, at := range places {
		if !slices.Contains(all, at.namespace) {
			all = append(all, at.namespace)
		}
	}
	return all
}

// changesElsewhere are those at places out of the namespace.
func (w *world) changesElsewhere() []runlog.Change {
	places := w.outside()
	var all []runlog.Change
	for _, namespace := range namespacesOf(places) {
		for _, change := range w.Witness.Scene(namespace).Changes(0) {
			group, _ := schema.ParseGroupVersion(change.APIVersion)
			of := spot{schema.GroupResource{Group: group.Group, Resource: change.Resource}, change.Namespace, change.Name}
			if !change.At.Before(w.began) && slices.Contains(places, of) {
				all = append(all, change)
			}
		}
	}
	return all
}

// made are the objects elsewhere that this run made: those that were there before are not to be
// removed.
func (w *world) made() []*unstructured.Unstructured {
	return slices.DeleteFunc(w.elsewhere(), func(object *unstructured.Unstructured) bool {
		return object.GetCreationTimestamp().Time.Before(w.began.Truncate(time.Second))
	})
}

// removeAll removes objects elsewhere, and waits until they are gone: the next run would find them.
func (w *world) removeAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := w.remove(ctx, object); err != nil {
			return err
		}
	}
	for _, object := range objects {
		_, mapping, err := w.resource(object.GroupVersionKind(), object.GetNamespace(), w.namespace)
		if err != nil {
			return err
		}
		if err := w.vanished(ctx, spot{mapping.Resource.GroupResource(), object.GetNamespace(), object.GetName()}); err != nil {
			return err
		}
	}
	return nil
}

// vanished waits until an object is gone.
func (w *world) vanished(ctx context.Context, at spot) error {
	scene := w.Witness.Scene(at.namespace)
	for {
		changed := scene.Changed()
		if w.Witness.Object(at.resource, at.namespace, at.name) == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s %s is not gone after %s", at.resource, at.name, timing.cleaningTimeout)
		}
	}
}
