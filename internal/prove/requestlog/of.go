package requestlog

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

// Of returns what a request's method, URL and headers tell. Its body is not touched.
func Of(r *http.Request) Request {
	query := r.URL.Query()
	request := Request{
		Path:        r.URL.Path,
		ContentType: r.Header.Get("Content-Type"),
		DryRun:      query.Has("dryRun"),
		Asked:       query.Get("resourceVersion"),
	}
	old := request.locate(r.URL.Path)
	request.Verb = verb(r.Method, &request, old || isTrue(query.Get("watch")))
	if request.IsWrite() {
		request.Manager = manager(r, query)
	}
	if request.Name == "" {
		request.Name = selected(query)
	}
	return request
}

// locate reads a path. It returns true where that is of the old form for watches, …/watch/….
func (r *Request) locate(path string) (watch bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		r.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		r.Group, r.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return false
	}
	if parts[0] == "watch" && len(parts) > 1 {
		watch, parts = true, parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		r.Namespace = parts[1]
		if len(parts) > 2 && !slices.Contains(ofNamespaces, parts[2]) {
			parts = parts[2:]
		}
	}
	r.Resource = parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = parts[2]
	}
	return watch
}

// ofNamespaces are what follows a namespace's name and is no resource in it.
var ofNamespaces = []string{"status", "finalize"}

func verb(method string, r *Request, watch bool) string {
	if r.Resource == "" {
		return strings.ToLower(method)
	}
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		if r.Name == "" {
			return "deletecollection"
		}
		return "delete"
	case http.MethodGet, http.MethodHead:
		switch {
		case watch:
			return "watch"
		case r.Name == "":
			return "list"
		}
		return "get"
	}
	return strings.ToLower(method)
}

// manager is who owns the fields of a write: who it says, or the program's name.
func manager(r *http.Request, query url.Values) string {
	if named := query.Get("fieldManager"); named != "" {
		return named
	}
	program, _, _ := strings.Cut(r.UserAgent(), "/")
	return program
}

// selected is the name that a list or watch asks for by its field selector.
func selected(query url.Values) string {
	selector, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return "" // the server will say so
	}
	name, _ := selector.RequiresExactMatch("metadata.name")
	return name
}

// isTrue reads a boolean as the API server does.
func isTrue(value string) bool { return value != "" && value != "0" && value != "false" }

// mediaType is a content type without its parameters.
func mediaType(contentType string) string {
	bare, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType
	}
	return bare
}
