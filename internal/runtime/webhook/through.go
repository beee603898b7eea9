package webhook

import (
	"encoding/json"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
)

// letThrough answers at paths that nobody serves. In the middle of an upgrade, API servers may ask a
// replica what only replicas of another version know to answer: one that does not have a role refuses
// nothing.
func letThrough(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReview)).Decode(&review)
	if err != nil || review.Request == nil {
		http.Error(w, "only reviews of admissions are answered here", http.StatusNotFound)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // the API server is gone, then
}
