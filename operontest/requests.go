package operontest

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// requests records the requests of an operator to a real API server.
type requests struct {
	mapper meta.RESTMapper
	writes *journal

	mu   sync.Mutex
	read sets.Set[string] // kinds
}

// request contains the information in the path of a request.
type request struct {
	schema.GroupVersionResource
	namespace, name, subresource string
}

// round is an http.RoundTripper.
type round func(*http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (f round) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// wrap records the requests that next sends.
func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return round(func(sent *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(sent)
		if err == nil && answer.StatusCode < http.StatusBadRequest {
			r.note(sent, answer.StatusCode)
		}
		return answer, err
	})
}

func (r *requests) note(sent *http.Request, status int) {
	of, ok := parse(sent.URL.Path)
	if !ok || own.Has(of.GroupResource()) || sent.URL.Query().Get("dryRun") != "" {
		return
	}
	kind := of.Resource
	if found, err := r.mapper.KindFor(of.GroupVersionResource); err == nil {
		kind = found.Kind
	}
	if sent.Method == http.MethodGet {
		if of.Group == "" && of.Resource == "namespaces" && of.name != "" {
			return // at its start, an operator checks whether its namespaces exist
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.read.Insert(kind)
		return
	}
	if sent.Method == http.MethodDelete && of.name == "" {
		of.name = every
	}
	r.writes.note(r.writes.name(verb(sent.Method, of.subresource, status), kind, of.namespace, of.name))
}

// own contains resources that an operator needs for itself: its record of kinds, its lock, discovery of kinds and
// permissions, and events.
var own = sets.New(
	schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"},
	schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
	schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	schema.GroupResource{Group: "events.k8s.io", Resource: "events"},
)

// verb returns the name of a write in a case.
func verb(method, subresource string, status int) string {
	switch {
	case subresource != "":
		return subresource
	case method == http.MethodDelete:
		return "delete"
	case status == http.StatusCreated:
		return "create"
	}
	return "change"
}

// parse reads a path such as /apis/apps/v1/namespaces/a/deployments/web/status.
func parse(path string) (request, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var r request
	switch {
	case len(parts) > 2 && parts[0] == "api":
		r.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		r.Group, r.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return request{}, false // discovery
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		r.namespace, parts = parts[1], parts[2:]
	}
	for i, to := range []*string{&r.Resource, &r.name, &r.subresource} {
		if i < len(parts) {
			*to = parts[i]
		}
	}
	return r, true
}

// kinds returns the kinds that were read.
func (r *requests) kinds() sets.Set[string] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read.Clone()
}
