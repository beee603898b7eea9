package webhook

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func FuzzUnserved(f *testing.F) {
	for _, body := range []string{`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"a"}}`, `{"request":null}`, `[]`, `{"request":{"uid":1}}`, "{"} {
		f.Add([]byte(body))
	}
	s := &Server{}
	s.before.Store(&map[string]bool{"/": true})
	f.Fuzz(func(t *testing.T, body []byte) {
		w := httptest.NewRecorder()
		s.unserved(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
		var answer admissionv1.AdmissionReview
		if w.Code == http.StatusOK && (json.Unmarshal(w.Body.Bytes(), &answer) != nil || answer.Response == nil) || w.Code != http.StatusOK && w.Code != http.StatusNotFound {
			t.Errorf("%q is answered with %d %s", body, w.Code, w.Body)
		}
	})
}

// At a path of an earlier version whose role was removed, everything is admitted. At that of another API version of a kind, or of a newer
// version, another replica has to decide.
func TestUnserved(t *testing.T) {
	t.Parallel()
	site := Hook{Role: Validate, Kind: schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Site"}}
	removed, other := "/validate/g/v1/fan", "/validate/g/v1beta1/site"
	s := &Server{served: served{hooks: []Hook{site}}}
	s.before.Store(&map[string]bool{removed: true, other: true, "/default/g/v1beta1/site": true})
	for path, code := range map[string]int{removed: http.StatusOK, other: http.StatusServiceUnavailable, "/default/g/v1beta1/site": http.StatusOK, "/validate/g/v1/newer": http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		s.unserved(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"request":{"uid":"a"}}`)))
		if w.Code != code || (w.Header().Get("Retry-After") != "") != (code != http.StatusOK) {
			t.Errorf("%s: %d, %v", path, w.Code, w.Header())
		}
	}
}
