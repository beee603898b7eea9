package requestlog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Effect tells what a write did to the object.
type Effect string

// Effects. That of a read is empty.
const (
	// Changed: the object is another one after the request.
	Changed Effect = "changed"
	// Unchanged: the request was refused, was a dry run, or found all as it asked for.
	Unchanged Effect = "unchanged"
	// Unknown: the server did not say, and nothing could be read that tells.
	Unknown Effect = "unknown"
)

// Request is one request of an operator, and what came of it.
type Request struct {
	// Seq numbers the requests in the order in which they came, from 1.
	Seq int64 `json:"seq"`
	// At is when it came.
	At time.Time `json:"at"`
	// Took is the time until the end of the answer, in nanoseconds. That of a watch is its life.
	Took time.Duration `json:"took"`
	// Instance is which start of the operator sent it, from 1; 0 where it came with credentials of
	// its own.
	Instance int `json:"instance,omitempty"`

	// Verb is that of the API server's authorisation (get, list, watch, create, update, patch,
	// delete, deletecollection), and the method in lower case where there is no resource.
	Verb string `json:"verb"`
	// Group is empty for the core group.
	Group string `json:"group,omitempty"`
	// Version is that of the API group.
	Version string `json:"version,omitempty"`
	// Resource is the plural name, empty for a path that is no resource (discovery, health).
	Resource string `json:"resource,omitempty"`
	// Subresource is what follows the object's name: status, scale, exec.
	Subresource string `json:"subresource,omitempty"`
	// Namespace is empty for cluster scope and for all namespaces.
	Namespace string `json:"namespace,omitempty"`
	// Name is the object's; of a list or watch the one that its field selector asks for; of a
	// creation with a generated name what the server answered.
	Name string `json:"name,omitempty"`
	// Path is the URL's, without the query.
	Path string `json:"path"`
	// Within is the one namespace that a list or watch across all of them was sent to, where the
	// operator lives in a world of its own. All else says what the operator asked for.
	Within string `json:"within,omitempty"`

	// Manager is the field manager of a write, as the API server would determine it.
	Manager string `json:"manager,omitempty"`
	// ContentType is that of what was sent; where nothing was, that of the answer.
	ContentType string `json:"contentType,omitempty"`
	// DryRun: the server was asked to change nothing.
	DryRun bool `json:"dryRun,omitempty"`
	// Body is a hash of what was sent, empty where nothing was.
	Body string `json:"body,omitempty"`

	// Asked is the resource version that the request carries: as a precondition of a write, as
	// the point in time of a read.
	Asked string `json:"asked,omitempty"`
	// Before is the resource version that the object had, where that is known.
	Before string `json:"before,omitempty"`
	// After is the resource version in the server's answer: the object's, or the list's.
	After string `json:"after,omitempty"`
	// Effect reports whether a write changed something.
	Effect Effect `json:"effect,omitempty"`

	// Served is the status that the server gave, 0 where the request did not reach it.
	Served int `json:"served,omitempty"`
	// Status is the status that the operator got, 0 where it got no answer.
	Status int `json:"status,omitempty"`
	// Events is how many events a watch showed.
	Events int `json:"events,omitempty"`
	// Stale reports that a fault showed the operator an earlier state when it sent the request.
	Stale bool `json:"stale,omitempty"`
	// Fault says what was done to the request on purpose.
	Fault string `json:"fault,omitempty"`
	// Error says why there was no answer, where that was not on purpose.
	Error string `json:"error,omitempty"`
}

// IsWrite reports whether the request is one that may change something.
func (r *Request) IsWrite() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection", "post", "put":
		return true
	}
	return false
}

// Streams reports whether a request's answer is no object but continues as long as somebody reads:
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

// IsBeside reports whether the request shows nothing of what an operator does: leader election,
// discovery, events, and reviews of permissions.
func (r *Request) IsBeside() bool {
	return r.IsLease() || r.Resource == "" || r.Resource == "events" || r.Group == "authorization.k8s.io" || r.Group == "authentication.k8s.io"
}

// Target is the resource with the subresource: pods/status.
func (r *Request) Target() string { return strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/") }

// String is the request in a line, for people.
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

// Sent adds what the body tells of the request: its hash, the name of an object that is created,
// and the resource version that a write insists on.
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

// Answered adds what the server's answer tells, where it is an object or a list.
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
