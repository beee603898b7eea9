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

	"github.com/operon-framework/operon/internal/core/operatorversion"
)

// remember stores the paths that an older version of the operator had registered when this process first reads the registrations.
// Paths of a newer version may be among the others: this process may be a restarted replica of the version before. Without a
// version of its own, it cannot know, and takes all of them for those of an older one: otherwise an operator that drops a webhook
// would reject writes until its next leader has removed the registration.
func (s *Server) remember(found map[ident]*unstructured.Unstructured) {
	if s.before.Load() != nil {
		return
	}
	paths := map[string]bool{}
	for of, live := range found {
		if live == nil || of.foreign || s.Version != "" && !operatorversion.Before(live.GetAnnotations()[versionAnnotation], s.Version) {
			continue
		}
		for _, who := range (&configuration{}).asked(live) {
			paths[who.path] = true
		}
	}
	s.before.CompareAndSwap(nil, &paths)
}

// unserved answers at paths that no role serves. During an upgrade, API servers may send a replica requests that only
// replicas of another version can answer. A path that an older version registered is that of a role that was removed: it
// refuses nothing. Any other path may belong to a newer version: only that version can decide. The same holds for the path of
// another API version of a kind. The API server tries again, over another connection, and so perhaps at another replica.
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
