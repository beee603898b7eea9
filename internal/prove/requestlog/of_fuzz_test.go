package requestlog_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/operon-framework/operon/internal/prove/requestlog"
)

func FuzzOf(f *testing.F) {
	f.Add("GET", "/api/v1/namespaces/a/pods", "watch=False&fieldSelector=metadata.name%3Dx")
	f.Add("DELETE", "/apis/a.b/v1/x/y/status", "dryRun=All&;")
	f.Add("PATCH", "//..//", "%")
	f.Fuzz(func(_ *testing.T, method, path, query string) {
		request := requestlog.Of(&http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{}})
		_, _ = request.Streams(), request.String()
	})
}
