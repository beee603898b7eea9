package webhook

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
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
