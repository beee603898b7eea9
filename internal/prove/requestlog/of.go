package requestlog

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// located parses paths as the API server's authorizer does.
var located = apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// Of returns the data in a request's method, URL and headers. It does not read the body.
func Of(r *http.Request) Request {
	query := r.URL.Query()
	request := Request{
		Path:        r.URL.Path,
		Verb:        strings.ToLower(r.Method),
		ContentType: r.Header.Get("Content-Type"),
		DryRun:      query.Has("dryRun"),
		Asked:       query.Get("resourceVersion"),
	}
	if info, err := located.NewRequestInfo(r); err == nil && info.IsResourceRequest {
		request.Verb, request.Group, request.Version = info.Verb, info.APIGroup, info.APIVersion
		request.Resource, request.Subresource = info.Resource, info.Subresource
		request.Namespace, request.Name = info.Namespace, info.Name
	}
	if request.IsWrite() {
		request.Manager = manager(r, query)
	}
	return request
}

// manager returns the field manager of a write: the requested one, or else the name of the program.
func manager(r *http.Request, query url.Values) string {
	if named := query.Get("fieldManager"); named != "" {
		return named
	}
	program, _, _ := strings.Cut(r.UserAgent(), "/")
	return program
}

// mediaType returns a content type without its parameters.
func mediaType(contentType string) string {
	bare, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType
	}
	return bare
}
