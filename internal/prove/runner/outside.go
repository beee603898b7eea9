package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/runlog"
)

// spot identifies an object.
type spot struct {
	resource        schema.GroupResource
	namespace, name string
}

// outside returns the objects outside the world's namespace that the operator or the workload wrote. A
// world with such objects cannot run beside another one.
func (w *world) outside() []spot {
	if w.proxy == nil {
		return nil
	}
	if ended := w.proxy.Record().Ended() + int64(len(w.applied)); ended != w.glance.ended {
		w.glance.ended, w.glance.places = ended, w.written()
	}
	return w.glance.places
}

// glance caches what is known of the world: silence is checked a hundred times a second, and usually nothing is new.
type glance struct {
	ended   int64 // the number of requests, and of objects that the workload wrote
	places  []spot
	count   int // of changes in the scenes, and of places
	changes []runlog.Change
	last    time.Time
}

// written computes the result of outside. It includes objects of writes whose response was lost.
func (w *world) written() []spot {
	all := slices.Clone(w.applied)
	for _, r := range w.proxy.Record().Requests() {
		if !r.IsWrite() || r.Effect == requestlog.Unchanged || r.Namespace == w.namespace || r.Resource == "" || r.Name == "" {
			continue
		}
		at := spot{schema.GroupResource{Group: r.Group, Resource: r.Resource}, r.Namespace, r.Name}
		if !slices.Contains(all, at) && at.resource != leases && at.resource != events {
			all = append(all, at)
		}
	}
	return all
}

// Resources that operators write besides their objects.
var (
	leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	events = schema.GroupResource{Resource: "events"}
)

// note records an object of the workload that is not in the world's namespace.
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

// elsewhere returns the current objects outside the namespace.
func (w *world) elsewhere() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, at := range w.outside() {
		if object := w.Witness.Object(at.resource, at.namespace, at.name); object != nil && !own(object) {
			all = append(all, object)
		}
	}
	return all
}

// namespacesOf returns the namespaces of objects, without duplicates.
func namespacesOf(places []spot) []string {
	var all []string
	for _, at := range places {
		if !slices.Contains(all, at.namespace) {
			all = append(all, at.namespace)
		}
	}
	return all
}

// changes returns the changes of the world in the order in which they happened: all changes in its namespace, and changes by the
// operator elsewhere. The changes of a step are therefore a prefix of the changes of the whole run. Callers must not modify the result.
func (w *world) changes() []runlog.Change {
	places := w.outside()
	namespaces := namespacesOf(places)
	count := w.scene.Count() + len(places)
	for _, namespace := range namespaces {
		count += w.Witness.Scene(namespace).Count()
	}
	if count == w.glance.count {
		return w.glance.changes
	}
	var all []runlog.Change
	for _, change := range w.scene.Changes(0) {
		if !w.first[change.UID] {
			all = append(all, change)
		}
	}
	for _, namespace := range namespaces {
		for _, change := range w.Witness.Scene(namespace).Changes(0) {
			group, _ := schema.ParseGroupVersion(change.APIVersion)
			of := spot{schema.GroupResource{Group: group.Group, Resource: change.Resource}, change.Namespace, change.Name}
			if !change.At.Before(w.began) && slices.Contains(places, of) {
				all = append(all, change)
			}
		}
	}
	w.glance.count, w.glance.changes, w.glance.last = count, clusterwatch.InOrder(all), time.Time{}
	for _, change := range all {
		w.glance.last = latest(w.glance.last, change.At)
	}
	return all
}

// made returns the objects outside the namespace that this run created. Objects that existed before must not be
// removed.
func (w *world) made() []*unstructured.Unstructured {
	return slices.DeleteFunc(w.elsewhere(), func(object *unstructured.Unstructured) bool {
		return object.GetCreationTimestamp().Time.Before(w.began.Truncate(time.Second))
	})
}

// removeAll removes objects outside the namespace and waits until they are deleted. Otherwise the next run would find them.
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

// vanished waits until an object is deleted.
func (w *world) vanished(ctx context.Context, at spot) error {
	scene := w.Witness.Scene(at.namespace)
	tick := time.NewTicker(timing.resume)
	defer tick.Stop()
	for {
		changed := scene.Changed()
		left := w.Witness.Object(at.resource, at.namespace, at.name)
		if left == nil {
			return nil
		}
		select {
		case <-changed:
		case <-tick.C:
			if err := w.cluster.ResumeDeletion(ctx, left); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("%s %s is not gone after %s: deleted %v, finalizers %v, status %v", at.resource, at.name, timing.cleaningTimeout,
				left.GetDeletionTimestamp(), left.GetFinalizers(), left.Object["status"])
		}
	}
}
