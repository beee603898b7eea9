package runner

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/prove/proxy"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/prove/workload"
)

// deed is what a step did to an object.
type deed struct {
	spot
	version string    // that it led to
	deleted types.UID // of what was deleted
}

// deedOf is what made an object what the API server answered.
func deedOf(of schema.GroupVersionResource, object *unstructured.Unstructured) deed {
	return deed{
		spot:    spot{of.GroupResource(), object.GetNamespace(), object.GetName()},
		version: object.GetResourceVersion(),
	}
}

// deletes notes that a step deletes an object, as far as the witness knows it.
func (w *world) deletes(mapping *meta.RESTMapping, one workload.Ref) {
	at := spot{mapping.Resource.GroupResource(), "", one.Name}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		at.namespace = cmp.Or(one.Namespace, w.namespace)
	}
	if object := w.Witness.Object(at.resource, at.namespace, at.name); object != nil {
		w.deeds = append(w.deeds, deed{spot: at, deleted: object.GetUID()})
	}
}

// late tells what a watch has still to show of what happened in a step, "" where that is nothing. Silence means
// nothing until then: who has not heard of a change does not act on it.
func (w *world) late(step time.Time) string {
	since := time.Now().Add(-scaled(timing.arrives, w.Witness.Slowness()))
	switch {
	case step.After(since) && w.unseen():
		return "the step has not been seen yet"
	case w.unseenOf(w.proxy.Record().Requests(), since):
		return "what the operator wrote has not been seen yet"
	case w.unheard(since):
		return "the operator has not received all changes yet"
	}
	return ""
}

// unseen reports whether the witness has still to see what the step did.
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

// unseenOf reports whether the witness has still to see what requests changed since a time.
func (w *world) unseenOf(requests []requestlog.Request, since time.Time) bool {
	for i := len(requests) - 1; i >= 0 && requests[i].At.After(since); i-- {
		r := &requests[i]
		if r.Effect != requestlog.Changed || r.After == "" || r.Name == "" || r.Subresource != "" && r.Subresource != "status" {
			continue
		}
		if !w.knows(spot{schema.GroupResource{Group: r.Group, Resource: r.Resource}, r.Namespace, r.Name}, r.After) {
			return true
		}
	}
	return false
}

// knows reports whether the witness has seen a version of an object, or a newer one, or never will.
func (w *world) knows(at spot, version string) bool {
	return !w.Witness.Watches(at.resource) || w.Witness.Scene(at.namespace).Knows(at.resource, at.name, version)
}

// unheard reports whether the operator watches something that changed since a time, and was not told of it.
func (w *world) unheard(since time.Time) bool {
	var news []proxy.News
	for _, change := range w.changes() {
		if !change.At.After(since) {
			continue
		}
		group, _ := schema.ParseGroupVersion(change.APIVersion) // as the API server has it
		news = append(news, proxy.News{
			Resource:  schema.GroupResource{Group: group.Group, Resource: change.Resource},
			Namespace: change.Namespace, Name: change.Name, Labels: change.Labels, Version: change.Version,
		})
	}
	return len(news) > 0 && w.proxy.Behind(news...)
}
