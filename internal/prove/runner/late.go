package runner

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// deed is a change of an object by a step.
type deed struct {
	spot
	version string    // resource version after the change
	deleted types.UID // UID of the deleted object
}

// deedOf returns the deed of a write to which the API server responded with object.
func deedOf(of schema.GroupVersionResource, object *unstructured.Unstructured) deed {
	return deed{
		spot:    spot{of.GroupResource(), object.GetNamespace(), object.GetName()},
		version: object.GetResourceVersion(),
	}
}

// late describes which changes of a step a watch still has to show, or returns "" if there are none. Silence means
// nothing until then: an operator that has not received a change does not act on it.
func (w *world) late(step time.Time) string {
	since := time.Now().Add(-scaled(timing.arrives, w.Witness.Slowness()))
	interrupted := w.Witness.Interrupted(since)
	switch {
	case interrupted != "":
		return "the API server has ended the watch of " + interrupted
	case step.After(since) && w.unseen():
		return "the step has not been seen yet"
	case w.unseenOf(w.proxy.Record().Requests(), since):
		return "what the operator wrote has not been seen yet"
	case w.unheard(since):
		return "the operator has not received all changes yet"
	}
	return ""
}

// unseen reports whether the witness still has to see a change by the step.
func (w *world) unseen() bool {
	for _, one := range w.deeds {
		if one.deleted == "" {
			if !w.knows(one.spot, one.version) {
				return true
			}
			continue
		}
		object := w.Witness.Object(one.resource, one.namespace, one.name)
		if object != nil && object.GetUID() == one.deleted && object.GetDeletionTimestamp() == nil {
			return true
		}
	}
	return false
}

// unseenOf reports whether the witness still has to see a change by a request since a time.
func (w *world) unseenOf(requests []requestlog.Request, since time.Time) bool {
	for i := len(requests) - 1; i >= 0 && requests[i].At.After(since); i-- {
		r := &requests[i]
		if r.Effect != requestlog.Changed || r.Name == "" || r.Subresource != "" && r.Subresource != "status" {
			continue
		}
		at := spot{schema.GroupResource{Group: r.Group, Resource: r.Resource}, r.Namespace, r.Name}
		if r.After != "" && !w.knows(at, r.After) || (r.Verb == "delete" || r.Before == r.After) && stillThere(w.Witness.Object(at.resource, at.namespace, at.name), r) {
			return true
		}
	}
	return false
}

// stillThere reports whether an object as the witness knows it is older than its deletion by a request, or than the removal of its last finalizer.
func stillThere(object *unstructured.Unstructured, r *requestlog.Request) bool {
	return object != nil && resourceclient.Revision(object.GetResourceVersion()) <= resourceclient.Revision(r.Before) &&
		(r.Verb != "delete" || object.GetDeletionTimestamp() == nil)
}

// knows reports whether the witness has seen a version of an object or a newer one, or does not watch its kind.
func (w *world) knows(at spot, version string) bool {
	return !w.Witness.Watches(at.resource) || w.Witness.Scene(at.namespace).Knows(at.resource, at.name, version)
}

// unheard reports whether the operator watches an object that changed since a time, and has not received the change.
func (w *world) unheard(since time.Time) bool {
	var news []proxy.News
	for _, change := range w.changes() {
		if !change.At.After(since) {
			continue
		}
		group, _ := schema.ParseGroupVersion(change.APIVersion) // it comes from the API server and is valid
		news = append(news, proxy.News{
			Resource:  schema.GroupResource{Group: group.Group, Resource: change.Resource},
			Namespace: change.Namespace, Name: change.Name, Labels: change.Labels, Version: change.Version,
		})
	}
	return len(news) > 0 && w.proxy.Behind(news...)
}
