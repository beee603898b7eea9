package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Lists has lists and maps.
// +kubebuilder:object:root=true
type Lists struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ListsSpec `json:"spec,omitempty"`
}

// ListsSpec has lists and maps.
type ListsSpec struct {
	// Set is a set.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:UniqueItems=false
	Set []string `json:"set"`
	// Parts are merged by two keys.
	// +listType=map
	// +listMapKey=name
	// +listMapKey=zone
	// +kubebuilder:default={{name:"a",zone:"b"},{name:"c"}}
	Parts []Part `json:"parts,omitempty"`
	// Newer is told in the newer way.
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:maxItems=7
	Newer []Part `json:"newer,omitempty"`
	// Whole is replaced as one.
	// +listType=atomic
	// +kubebuilder:default={}
	Whole []int `json:"whole,omitempty"`
	// Known has its rules with its type.
	Known KnownParts `json:"known,omitempty"`
	// Newest has its rules with its type, too.
	Newest NewestParts `json:"newest,omitempty"`
	// Table is a list of lists.
	// +kubebuilder:validation:items:MinItems=1
	// +kubebuilder:validation:items:MaxItems=3
	// +kubebuilder:validation:items:UniqueItems=false
	Table [][]int `json:"table,omitempty"`
	// Rows are a list of lists with rules at the type.
	Rows Rows `json:"rows,omitempty"`
	// Labels are as all labels.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=10
	// +mapType=granular
	// +kubebuilder:default={app:"web","tier":"front"}
	Labels map[string]string `json:"labels,omitempty"`
	// ByMode has keys of another type.
	// +mapType=atomic
	ByMode map[Mode]Part `json:"byMode,omitempty"`
	// Deep is a map of maps of lists.
	Deep map[string]map[string][]*Part `json:"deep,omitempty"`
	// Maps is a map with a type.
	Maps Maps `json:"maps,omitempty"`
	// Several maps.
	// +kubebuilder:validation:items:MinProperties=1
	// +kubebuilder:validation:items:MaxProperties=2
	Several []map[string]string `json:"several,omitempty"`
	// Bags are several maps.
	Bags Bags `json:"bags,omitempty"`
	// Part is replaced as one.
	// +structType=atomic
	Part *Part `json:"part,omitempty"`
	// Fixed has rules with its type.
	Fixed Fixed `json:"fixed,omitempty"`
	// Pointers to pointers.
	Pointers []*string `json:"pointers,omitempty"`
	// Alias is another name.
	Alias Same `json:"alias,omitempty"`
}

// Part is one of several.
type Part struct {
	Name string `json:"name"`
	// +kubebuilder:default="eu"
	Zone string `json:"zone,omitempty"`
	// +kubebuilder:default={requests:{cpu:"1"},ready:true,weight:2,none:{}}
	Box *Box `json:"box,omitempty"`
}

// Box is within.
type Box struct {
	Requests map[string]string `json:"requests,omitempty"`
	Ready    bool              `json:"ready,omitempty"`
	Weight   int               `json:"weight,omitempty"`
	None     *Fixed            `json:"none,omitempty"`
}

// KnownParts have rules.
// +listType=map
// +listMapKey=name
// +kubebuilder:validation:MinItems=0
// +kubebuilder:validation:MaxItems=9
// +kubebuilder:validation:UniqueItems=false
// +kubebuilder:validation:XValidation:rule="self.all(x, x.name != ”)"
// +kubebuilder:validation:items:XValidation:rule="self.name.size() < 9",message="too long"
type KnownParts []Part

// NewestParts have rules in the newer way.
// +k8s:listType=map
// +k8s:listMapKey=name
type NewestParts []Part

// Rows are rows.
// +kubebuilder:validation:items:MinItems=1
// +kubebuilder:validation:items:MaxItems=3
// +kubebuilder:validation:items:UniqueItems=false
type Rows [][]string

// Maps are maps.
// +mapType=granular
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=4
type Maps map[string]Part

// Bags are maps.
// +kubebuilder:validation:items:MinProperties=1
// +kubebuilder:validation:items:MaxProperties=3
type Bags []map[string]int

// Fixed is replaced as one.
// +structType=atomic
// +kubebuilder:validation:MinProperties=0
type Fixed struct {
	A string `json:"a,omitempty"`
	B string `json:"b,omitempty"`
}

// Same is another name.
type Same = Part
