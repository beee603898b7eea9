package aggregated_test

import (
	"io"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

// content reads a subresource, with and without permission.
func (w *world) content(t *testing.T) {
	w.made(t, w.note("drawn", "one"))
	response, body := w.picture(t, w.Config, "drawn", "")
	if body != "<svg>one</svg>" || response.Header.Get("Content-Type") != "image/svg+xml" || response.Header.Get("X-Content-Type-Options") != "nosniff" ||
		response.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("the picture is %q, with the headers %v", body, response.Header)
	}
	if again, body := w.picture(t, w.Config, "drawn", response.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("the same picture is returned again: %d %q", again.StatusCode, body)
	}
	if response, _ := w.picture(t, w.Config, "missing", ""); response.StatusCode != http.StatusNotFound {
		t.Errorf("the status of the picture of nothing is %d", response.StatusCode)
	}
	nobody := rest.CopyConfig(w.Config)
	nobody.Impersonate.UserName = "nobody"
	if response, _ := w.picture(t, nobody, "drawn", ""); response.StatusCode != http.StatusForbidden {
		t.Errorf("without permission, the status is %d", response.StatusCode)
	}
}

// picture reads the picture of a note, unless it has not changed since etag.
func (w *world) picture(t *testing.T, as *rest.Config, name, etag string) (*http.Response, string) {
	t.Helper()
	client, err := rest.HTTPClientFor(as)
	if err != nil {
		t.Fatal(err)
	}
	path := as.Host + "/apis/" + version.String() + "/namespaces/" + w.Namespace + "/notes/" + name + "/picture"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}
