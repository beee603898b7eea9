// Package v2 has another version of a kind, and a kind that is not served.
// +kubebuilder:object:generate=true
// +groupName=every.test
package v2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:unservedversion
// +kubebuilder:deprecatedversion:warning="every.test/v2 Numbers is no more; use v1"
// +kubebuilder:printcolumn:name=Count,type=integer,JSONPath=.spec.count
// +kubebuilder:metadata:labels="every.test/from=v2"

// Numbers is the later form.
type Numbers struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              NumbersSpec `json:"spec,omitempty"`
}

// NumbersSpec has a number.
type NumbersSpec struct {
	Count int `json:"count"`
}
