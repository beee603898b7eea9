package proxy

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
)

// News is a change of an object, as recorded by an observer that sees all changes.
type News struct {
	Resource        schema.GroupResource
	Namespace, Name string
	// Labels are the labels of the object after the change.
	Labels map[string]string
	// Version is the object's resource version after the change.
	Version string
}

// Behind reports whether an open watch of the operator would show at least one of the changes, but has not
// reached it yet: either the API server sends it later, or the operator does not read.
//
// Caveats: some watches are never behind: watches that select by other fields than name and namespace, watches in an
// unknown encoding, and watches of objects without numeric resource versions.
func (p *Proxy) Behind(all ...News) bool {
	return slices.ContainsFunc(p.watches.open(), func(f *frames) bool { return slices.ContainsFunc(all, f.lacks) })
}

// watches contains the open watches of the operator.
type watches struct {
	mu  sync.Mutex
	all map[*frames]bool
}

func (w *watches) open() []*frames {
	w.mu.Lock()
	defer w.mu.Unlock()
	open := make([]*frames, 0, len(w.all))
	for one := range w.all {
		open = append(open, one)
	}
	return open
}

func (w *watches) add(one *frames) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*frames]bool{}
	}
	w.all[one] = true
}

func (w *watches) remove(one *frames) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, one)
}

// subject describes the objects of a watch.
type subject struct {
	resource  schema.GroupResource
	namespace string // empty: all namespaces, or cluster-scoped
	labels    labels.Selector
	fields    fields.Selector
}

// subjectOf returns the objects that a watch selects, or nil if they are not known.
func subjectOf(x *exchange) *subject {
	query := x.to.Query()
	byLabels, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil
	}
	byFields, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil || slices.ContainsFunc(byFields.Requirements(), unknown) {
		return nil
	}
	s := &subject{resource: schema.GroupResource{Group: x.Group, Resource: x.Resource}, labels: byLabels, fields: byFields}
	if s.resource != (schema.GroupResource{Resource: "namespaces"}) {
		s.namespace = cmp.Or(x.Namespace, x.Within)
	}
	return s
}

// The fields by which every object can be selected.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

func unknown(r fields.Requirement) bool { return r.Field != nameField && r.Field != namespaceField }

// about reports whether a watch would show a change.
func (s *subject) about(n News) bool {
	return s != nil && s.resource == n.Resource && (s.namespace == "" || s.namespace == n.Namespace) &&
		s.labels.Matches(labels.Set(n.Labels)) && s.fields.Matches(fields.Set{nameField: n.Name, namespaceField: n.Namespace})
}

// lacks reports whether the watch still has to show a change.
func (f *frames) lacks(n News) bool {
	return f.reached.Load() < resourceclient.Revision(n.Version) && f.about.about(n)
}
