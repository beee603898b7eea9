// Package v1 has a field behind each of two gates, and comments that are long.
//
// +groupName=gates.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type Lamp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec `json:"spec"`
}

// Spec is what a lamp is to do. It says so at length, which nobody needs to read in a cluster.
//
// +operon:description:max=30
type Spec struct {
	// On it is, or not. This sentence is one too many.
	On bool `json:"on"`
	// Colour of the light. Red, green or blue, and nothing else.
	//
	// +operon:feature-gate=Colours
	// +operon:description:max=60
	Colour string `json:"colour"`
	// +operon:feature-gate=Smell
	Smell Smell `json:"smell,omitempty"`
	// Note to whom it may concern.
	// +operon:description:max=0
	Note string `json:"note,omitempty"`
}

// Smell of the light. Its own comment is not cut.
type Smell struct {
	// Of what. This sentence stays, too.
	Of string `json:"of"`
}
