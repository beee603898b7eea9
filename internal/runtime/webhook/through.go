package webhook

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// remember stores the paths that are registered when this process first reads the registrations.
func (s *Server) remember(found map[ident]*unstructured.Unstructured) {
	if s.before.Load() != nil {
		return
	}
	paths := map[string]bool{}
	for of, live := range found {
		if live == nil || of.foreign {
			continue
		}
		for _, who := range (&configuration{}).asked(live) {
			paths[who.path] = true
		}
	}
	s.before.CompareAndSwap(nil, &paths)
}

// unserved answers at paths that no role serves. During an upgrade, API servers may send a replica requests that only
// replicas of another version can answer. A path that was registered before this process started belongs to an earlier
// version, whose role was removed: it refuses nothing. A path that was registered since belongs to a newer version: only
// that version can decide. The same holds for the path of another API version of a kind. The API server tries again, over another
// connection, and so perhaps at another replica.
func (s *Server) unserved(w http.ResponseWriter, r *http.Request) {
	if before := s.before.Load(); before == nil || !(*before)[r.URL.Path] || hasOtherVersion(s.hooks, r.URL.Path) {
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Connection", "close")
		http.Error(w, "no role serves this path: it may be registered by a newer version of the operator", http.StatusServiceUnavailable)
		return
	}
	// The objects are not decoded: they take several times as much memory as their text.
	var review struct {
		metav1.TypeMeta `json:",inline"`
		Request         *struct{ UID types.UID }
	}
	err := json.NewDecoder(r.Body).Decode(&review)
	if err != nil || review.Request == nil {
		http.Error(w, "only reviews of admissions are answered here", http.StatusNotFound)
		return
	}
	answer := admissionv1.AdmissionReview{
		TypeMeta: review.TypeMeta,
		Response: &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true},
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the API server has disconnected
}

// hasOtherVersion reports whether a role serves the kind of a path in another API version.
func hasOtherVersion(hooks []Hook, path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/") // role, group, version, kind
	return len(parts) == 4 && slices.ContainsFunc(hooks, func(h Hook) bool {
		own := strings.Split(strings.Trim(h.path(), "/"), "/")
		return own[0] == parts[0] && own[1] == parts[1] && own[3] == parts[3]
	})
}
