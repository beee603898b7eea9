package clusterwatch

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// Scene is the recorded state and history of a namespace.
type Scene struct {
	witness *Witness
	objects map[key]*unstructured.Unstructured
	newest  map[key]uint64 // resource versions, including those of deleted objects
	changes []runlog.Change
	last    time.Time
	changed chan struct{}
}

// key identifies an object within its scene.
type key struct {
	resource schema.GroupResource
	name     string
}

// events is the resource of Kubernetes events.
var events = schema.GroupResource{Resource: "events"}

// beside contains the kinds that change when nothing else happens, or only because another object changed.
var beside = map[schema.GroupResource]bool{
	events: true,
	{Group: "coordination.k8s.io", Resource: "leases"}:      true,
	{Group: "discovery.k8s.io", Resource: "endpointslices"}: true,
}

// note records a change. The caller holds the witness's lock.
func (s *Scene) note(change runlog.Change, beside bool) {
	if beside {
		return
	}
	s.changes = append(s.changes, change)
	s.last = change.At
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changes returns the changes after the first n, in the order of resource versions.
// Events, leases and endpoints are left out.
func (s *Scene) Changes(n int) []runlog.Change {
	s.witness.mu.Lock()
	since := slices.Clone(s.changes[min(n, len(s.changes)):])
	s.witness.mu.Unlock()
	return InOrder(since)
}

// InOrder sorts changes by their resource versions, and returns them. API servers behind an aggregator may use other resource
// versions; their changes keep the order of arrival.
func InOrder(changes []runlog.Change) []runlog.Change {
	slices.SortStableFunc(changes, func(a, b runlog.Change) int {
		return cmp.Compare(resourceclient.Revision(a.Version), resourceclient.Revision(b.Version))
	})
	return changes
}

// Count returns the number of changes so far.
func (s *Scene) Count() int {
	s.witness.mu.Lock()
	defer s.witness.mu.Unlock()
	return len(s.changes)
}

// LastChange returns the time of the last change, or the zero time if nothing has changed.
func (s *Scene) LastChange() time.Time {
	s.witness.mu.Lock()
	defer s.witness.mu.Unlock()
	return s.last
}

// Knows reports whether the recorded state of an object is at least as new as a version.
func (s *Scene) Knows(resource schema.GroupResource, name, version string) bool {
	s.witness.mu.Lock()
	defer s.witness.mu.Unlock()
	return s.newest[key{resource, name}] >= resourceclient.Revision(version)
}

// Changed returns a channel that is closed at the next change.
func (s *Scene) Changed() <-chan struct{} {
	s.witness.mu.Lock()
	defer s.witness.mu.Unlock()
	return s.changed
}

// State returns the current objects, by kind and name. Events, leases and endpoints are left
// out. The objects must not be changed.
func (s *Scene) State() []*unstructured.Unstructured {
	s.witness.mu.Lock()
	defer s.witness.mu.Unlock()
	var all []*unstructured.Unstructured
	for of, object := range s.objects {
		if !beside[of.resource] {
			all = append(all, object)
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetAPIVersion(), b.GetAPIVersion()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// Events returns the namespace's events.
func (s *Scene) Events() []runlog.Event {
	s.witness.mu.Lock()
	defer s.witness.mu.Unlock()
	var all []runlog.Event
	for of, object := range s.objects {
		if of.resource == events {
			all = append(all, event(object))
		}
	}
	slices.SortFunc(all, func(a, b runlog.Event) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Note, b.Note))
	})
	return all
}

// event returns a summary of an event.
func event(object *unstructured.Unstructured) runlog.Event {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(object.Object, fields...)
		return value
	}
	number := func(fields ...string) int {
		value, _, _ := unstructured.NestedInt64(object.Object, fields...)
		return int(value)
	}
	return runlog.Event{
		Of:   text("involvedObject", "kind") + "/" + text("involvedObject", "name"),
		Type: text("type"), Reason: text("reason"), Note: text("message"),
		Count: max(1, number("count"), number("series", "count")),
		By:    cmp.Or(text("reportingComponent"), text("source", "component")),
	}
}

// change returns a summary of a change to an object.
func (k *kind) change(object *unstructured.Unstructured, what string) runlog.Change {
	version, of := k.named.ToAPIVersionAndKind()
	return runlog.Change{
		At: time.Now(), Type: what, APIVersion: version, Kind: of, Resource: k.resource.Resource,
		Namespace: object.GetNamespace(), Name: object.GetName(), GenerateName: object.GetGenerateName(),
		UID: string(object.GetUID()), Version: object.GetResourceVersion(), Generation: object.GetGeneration(),
		Deleting: object.GetDeletionTimestamp() != nil, Manager: lastManager(object), Owner: owner(object),
		Labels: object.GetLabels(),
	}
}

// lastManager returns the field manager with the latest write according to managedFields, whose times have a resolution of one second.
func lastManager(object *unstructured.Unstructured) string {
	var newest *metav1.ManagedFieldsEntry
	for _, entry := range object.GetManagedFields() {
		if newest == nil || entry.Time != nil && (newest.Time == nil || !entry.Time.Before(newest.Time)) {
			newest = &entry
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Manager
}

// owner returns the controller of an object, or its first owner if it does not have a controller.
func owner(object *unstructured.Unstructured) string {
	owners := object.GetOwnerReferences()
	for _, one := range owners {
		if one.Controller != nil && *one.Controller {
			return one.Kind + "/" + one.Name
		}
	}
	if len(owners) == 0 {
		return ""
	}
	return owners[0].Kind + "/" + owners[0].Name
}
