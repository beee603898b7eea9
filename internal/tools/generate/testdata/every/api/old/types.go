// Package old is copied as code-generator's markers say.
// +k8s:deepcopy-gen=package,register
// +groupName=old.every.test
// +versionName=v1
package old

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Aged is old.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Aged struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              AgedSpec `json:"spec,omitempty"`
}

// AgedSpec has a map.
type AgedSpec struct {
	Years map[string][]int `json:"years,omitempty"`
}

// Uncopied is not copied.
// +k8s:deepcopy-gen=false
type Uncopied struct {
	Values []string `json:"values,omitempty"`
}
