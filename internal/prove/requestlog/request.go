package requestlog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Effect is the effect of a write on the object.
type Effect string

// Effects. The effect of a read is empty.
const (
	// Changed means that the request changed the object.
	Changed Effect = "changed"
	// Unchanged means that the request was rejected, was a dry run, or that the object already had the requested state.
	Unchanged Effect = "unchanged"
	// Unknown means that the response does not show the effect, and that it could not be determined otherwise.
	Unknown Effect = "unknown"
)

// Request is one request of an operator, with its result.
type Request struct {
	// Seq is the number of the request in the order of arrival, counted from 1.
	Seq int64 `json:"seq"`
	// At is when the request was received.
	At time.Time `json:"at"`
	// Took is the time until the end of the response, in nanoseconds. For a watch, it is the duration of the watch.
	Took time.Duration `json:"took"`
	// Instance is the number of the operator's start that sent the request, counted from 1. It is 0 if the request had its own
	// credentials.
	Instance int `json:"instance,omitempty"`

	// Verb is the verb for authorization in the API server (get, list, watch, create, update, patch,
	// delete, deletecollection), or the method in lower case if the request is not for a resource.
	Verb string `json:"verb"`
	// Group is empty for the core group.
	Group string `json:"group,omitempty"`
	// Version is the version of the API group.
	Version string `json:"version,omitempty"`
	// Resource is the plural name. It is empty for a path that is not a resource (discovery, health).
	Resource string `json:"resource,omitempty"`
	// Subresource is the part of the path after the object's name: status, scale, exec.
	Subresource string `json:"subresource,omitempty"`
	// Namespace is empty for cluster-scoped objects and for requests across all namespaces.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object. For a list or watch, it is the name that the field selector requests. For a
	// creation with a generated name, it is the name in the response.
	Name string `json:"name,omitempty"`
	// Path is the path of the URL, without the query.
	Path string `json:"path"`
	// Within is the namespace to which a list or watch across all namespaces was restricted, if the
	// operator runs in its own world. All other fields describe the original request.
	Within string `json:"within,omitempty"`

	// Manager is the field manager of a write, as the API server would determine it.
	Manager string `json:"manager,omitempty"`
	// ContentType is the content type of the request body, or of the response if the request has no body.
	ContentType string `json:"contentType,omitempty"`
	// DryRun means that the server was requested not to change anything.
	DryRun bool `json:"dryRun,omitempty"`
	// Body is a hash of the request body. It is empty if the request has no body.
	Body string `json:"body,omitempty"`

	// Asked is the resource version in the request: the precondition of a write, or
	// the requested version of a read.
	Asked string `json:"asked,omitempty"`
	// Before is the resource version of the object before the request, if it is known.
	Before string `json:"before,omitempty"`
	// After is the resource version of the object or the list in the server's response.
	After string `json:"after,omitempty"`
	// Effect is the effect of a write.
	Effect Effect `json:"effect,omitempty"`

	// Served is the status code from the server. It is 0 if the request did not reach the server.
	Served int `json:"served,omitempty"`
	// Status is the status code that the operator received. It is 0 if it received no response.
	Status int `json:"status,omitempty"`
	// Events is the number of events that a watch showed.
	Events int `json:"events,omitempty"`
	// Stale is true if a fault showed the operator an earlier state when it sent the request.
	Stale bool `json:"stale,omitempty"`
	// Fault describes the faults that were injected into the request.
	Fault string `json:"fault,omitempty"`
	// Error is the reason why there was no response, unless a fault caused that.
	Error string `json:"error,omitempty"`
}

// IsWrite reports whether the request may change something.
func (r *Request) IsWrite() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection", "post", "put":
		return true
	}
	return false
}

// Streams reports whether the response is not an object but continues as long as the client reads:
// a shell, a log, a tunnel.
func (r *Request) Streams() bool {
	switch r.Subresource {
	case "exec", "attach", "portforward", "proxy", "log":
		return true
	}
	return false
}

// IsLease reports whether the request is about a lease.
func (r *Request) IsLease() bool { return r.Group == "coordination.k8s.io" && r.Resource == "leases" }

// IsBeside reports whether the request is not part of an operator's actual work: leader election,
// discovery, events, and reviews of permissions.
func (r *Request) IsBeside() bool {
	return r.IsLease() || r.Resource == "" || r.Resource == "events" || r.Group == "authorization.k8s.io" || r.Group == "authentication.k8s.io"
}

// Failures describes failed attempts of the same request since its last success.
type Failures struct {
	InARow int
	// Apart is the time between the last two.
	Apart time.Duration
	last  time.Time
}

// Failed returns the failures since a time that faults caused: the largest values of all requests.
func Failed(requests []Request, since time.Time) Failures {
	type key struct{ verb, path string }
	failed := map[key]Failures{}
	for i := range requests {
		r := &requests[i]
		of := key{r.Verb, r.Path}
		switch before := failed[of]; {
		case r.At.Before(since) || r.IsBeside() || r.Verb == "watch":
		case r.Fault == "" || r.Status != 0 && r.Status < http.StatusBadRequest:
			delete(failed, of)
		case before.InARow == 0:
			failed[of] = Failures{InARow: 1, last: r.At}
		default:
			failed[of] = Failures{InARow: before.InARow + 1, Apart: r.At.Sub(before.last), last: r.At}
		}
	}
	var most Failures
	for _, one := range failed {
		most.InARow, most.Apart = max(most.InARow, one.InARow), max(most.Apart, one.Apart)
	}
	return most
}

// Target returns the resource with the subresource: pods/status.
func (r *Request) Target() string { return strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/") }

// String returns the request as one line of text.
func (r *Request) String() string {
	what := r.Path
	if r.Resource != "" {
		what = r.Resource
		if r.Subresource != "" {
			what += "/" + r.Subresource
		}
		what += " " + strings.Trim(r.Namespace+"/"+r.Name, "/")
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", r.Verb, what)) + fmt.Sprintf(" → %d %s", r.Status, r.Effect)
}

// Sent adds the data in the body of the request: its hash, the name of an object that is created,
// and the resource version that a write requires.
func (r *Request) Sent(body []byte) {
	if len(body) == 0 {
		return
	}
	sum := sha256.Sum256(body)
	r.Body = hex.EncodeToString(sum[:16])
	if r.Subresource != "" && r.Verb == "create" || r.Verb == "delete" || r.Verb == "deletecollection" {
		return
	}
	meta, ok := MetaOf(r.ContentType, body)
	if !ok {
		return
	}
	if r.Name == "" {
		r.Name = meta.Name
	}
	r.Asked = meta.ResourceVersion
}

// Answered adds the data in the server's response, if it is an object or a list.
func (r *Request) Answered(status int, contentType string, body []byte) (Meta, bool) {
	r.Served = status
	if r.ContentType == "" {
		r.ContentType = contentType
	}
	meta, ok := MetaOf(contentType, body)
	if !ok || status >= http.StatusMultipleChoices {
		return meta, ok
	}
	if r.Verb == "create" && r.Name == "" {
		r.Name = meta.Name
	}
	r.After = meta.ResourceVersion
	return meta, ok
}
