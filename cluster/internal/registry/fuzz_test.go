package registry_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/operon-framework/operon/cluster/internal/registry"
)

// FuzzRequests sends one request to a registry. No request may cause a server error.
func FuzzRequests(f *testing.F) {
	f.Add(http.MethodPut, "/v2/a/manifests/latest", "", []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json"}`))
	f.Add(http.MethodPost, "/v2/a/blobs/uploads/", "digest=sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a&mount=x&from=..", []byte("{}"))
	f.Add(http.MethodGet, "/v2/_catalog", "n=-1&last=%00", []byte(nil))
	f.Add(http.MethodGet, "/v2/a/../b/tags/list", "n=99999999999999999999", []byte(nil))
	f.Add(http.MethodPatch, "/v2/a/blobs/uploads/ABC", "_state", []byte("x"))
	f.Add(http.MethodGet, "/v2/a/referrers/sha256:x", "artifactType=a", []byte(nil))
	r, err := registry.Open(f.TempDir(), false)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, path, query string, body []byte) {
		request := httptest.NewRequest(http.MethodGet, "/", bytes.NewReader(body))
		request.Method, request.URL = method, &url.URL{Path: path, RawQuery: query}
		w := httptest.NewRecorder()
		r.ServeHTTP(w, request)
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("%s %q?%q: %d %s", method, path, query, w.Code, w.Body)
		}
	})
}
