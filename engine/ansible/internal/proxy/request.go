package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// access is a request for an object or a list.
type access struct {
	session *Session
	// key has no name for the creation of an object.
	key objectKey
	// does is what the request does with the object or list.
	does doing
	// whole means that the response has the whole object or list.
	whole bool
	// task is the task that sent the request. withStatus means that it may use the status of what it reads.
	task       int
	withStatus bool
}

// doing is what a request does.
type doing int

const (
	reads doing = iota
	// readsListed reads an object as the only item of a list.
	readsListed
	// creates creates an object whose name is in the response.
	creates
	// rehearses would create an object, but is a dry run.
	rehearses
	writes
	deletes
)

// isReview reports whether a request asks the API server about permissions or users. What it creates is not stored.
func isReview(info *request.RequestInfo) bool {
	return info.APIGroup == "authorization.k8s.io" || info.APIGroup == "authentication.k8s.io"
}

// streams are the subresources that are not stored, so that what they answer cannot be watched.
var streams = []string{"log", "exec", "attach", "portforward", "proxy"}

// access returns what a request reads or writes, or nil if that is not recorded.
func (s *Session) access(r *http.Request, info *request.RequestInfo) *access {
	if !info.IsResourceRequest || isReview(info) || info.Resource == "events" { // no run depends on events
		return nil
	}
	kind, namespaced, err := s.kindOf(info)
	if err != nil { // not served: the API server answers with an error
		s.opens(fmt.Sprintf("a request for %s, which is not served", info.Path))
		return nil
	}
	if slices.Contains(s.Ignored, kind) {
		return nil
	}
	s.mu.Lock()
	a := &access{session: s, task: s.task, withStatus: s.withStatus}
	s.mu.Unlock()
	a.key = objectKey{kind: kind, name: info.Name}
	if namespaced { // of a Namespace, it is its name
		a.key.namespace = info.Namespace
	}
	if why := a.describe(r.URL.Query(), info, namespaced); why != "" {
		s.opens(why)
		return nil
	}
	if a.key == s.Owner.key() { // runs write its status
		s.mu.Lock()
		s.usesOwner = s.usesOwner || a.withStatus && (a.does == reads || a.does == readsListed)
		s.mu.Unlock()
		a.withStatus = false
	}
	if a.withStatus && slices.Contains(s.Managed, kind.GroupKind()) {
		a.withStatus = false
		if a.does == reads || a.does == readsListed {
			s.opens(fmt.Sprintf("the status of %s, which this operator writes", Place(a.key.object())))
		}
	}
	return a
}

// describe sets what a request does. It returns the reason if the request cannot be recorded.
func (a *access) describe(query url.Values, info *request.RequestInfo, namespaced bool) string {
	fields := query.Get("fieldSelector")
	a.whole = info.Subresource == "" && query.Get("limit") == "" && query.Get("continue") == ""
	switch {
	case slices.Contains(streams, info.Subresource):
		return fmt.Sprintf("a request for the subresource %s of %s %s", info.Subresource, a.key.kind.Kind, info.Name)
	case info.Verb == "watch":
		return "a watch of " + info.Resource
	case info.Verb == "list" && info.Name != "" && fields == "metadata.name="+info.Name:
		a.does = readsListed
	case fields != "":
		return "a list by the field selector " + fields
	case info.Verb == "list" || info.Verb == "deletecollection":
		a.key.name, a.key.selector, a.withStatus = "", query.Get("labelSelector"), true
		if info.Verb == "deletecollection" {
			a.does = deletes
		}
		if namespaced && info.Namespace == "" && a.key.selector == "" {
			return fmt.Sprintf("a list of the %s of all namespaces", info.Resource)
		}
	default:
		a.does = doingOf(info)
	}
	if a.does != reads && query.Get("dryRun") != "" {
		a.rehearse()
	}
	return ""
}

// doingOf returns what a request for one object does.
func doingOf(info *request.RequestInfo) doing {
	switch {
	case info.Verb == "get":
		return reads
	case info.Verb == "delete":
		return deletes
	case info.Name == "":
		return creates
	}
	return writes
}

// rehearse makes a request a read: a dry run changes nothing, and its result depends on what is stored. The response is not
// what is stored.
func (a *access) rehearse() {
	a.whole = false
	if a.does == creates {
		a.does = rehearses
		return
	}
	a.does = reads
}

// kindOf returns the kind of a resource.
func (s *Session) kindOf(info *request.RequestInfo) (kind schema.GroupVersionKind, namespaced bool, err error) {
	kind, err = s.proxy.mapper.KindFor(schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource})
	if err != nil {
		return kind, false, err
	}
	mapping, err := s.proxy.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return kind, false, err
	}
	return kind, mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}
