// Package v1 has a policy behind the gate of the field that it asks for.
//
// +groupName=gated.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Lamp shines.
//
// +operon:policy:name=colour,expression="!has(object.spec.colour) || object.spec.colour != 'red'",featureGate=Colours
type Lamp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec `json:"spec"`
}

// Spec is what a lamp is to do.
type Spec struct {
	On bool `json:"on"`
	// +operon:feature-gate=Colours
	Colour string `json:"colour,omitempty"`
}
