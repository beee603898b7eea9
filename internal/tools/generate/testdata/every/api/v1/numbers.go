package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=numberses,singular=numbers,scope=Namespaced,shortName=num;nums,categories=all;every
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`,description="How many, and why",format=int32,priority=0
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",priority=1
// +kubebuilder:selectablefield:JSONPath=`.spec.replicas`
// +kubebuilder:selectablefield:JSONPath=`.spec.port`
// +kubebuilder:metadata:annotations="every.test/about=numbers",labels={"every.test/sort=numbers","tier=api"}
// +kubebuilder:metadata:annotations="every.test/more=it has = in it"
// +kubebuilder:storageversion

// Numbers has numbers.
type Numbers struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	Spec NumbersSpec `json:"spec,omitempty"`
	// Status is what is seen.
	// +optional
	Status NumbersStatus `json:"status,omitempty,omitzero"`
}

// NumbersSpec has numbers of all sorts.
type NumbersSpec struct {
	// Replicas are how many.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:validation:ExclusiveMaximum=true
	// +kubebuilder:default=3
	Replicas *int32 `json:"replicas,omitempty"`
	// Port is where.
	Port Port `json:"port"`
	// Ratio is a float.
	// +kubebuilder:validation:Minimum=-0.5
	// +kubebuilder:validation:MultipleOf=0.25
	// +kubebuilder:validation:ExclusiveMinimum=false
	Ratio float64 `json:"ratio,omitempty"`
	// Narrow is a small float.
	Narrow float32 `json:"narrow,omitempty"`
	// Sizes are all the sizes that there are.
	Sizes Sizes `json:"sizes"`
	// Ports are several.
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	// +kubebuilder:validation:items:ExclusiveMinimum=true
	// +kubebuilder:validation:items:ExclusiveMaximum=true
	// +kubebuilder:validation:items:MultipleOf=2
	// +kubebuilder:validation:items:Enum=2;4;6
	Ports []int `json:"ports,omitempty"`
	// Evens are several of a type of their own.
	Evens Evens `json:"evens,omitempty"`
	// Bounded is bounded as Kubernetes' own types are.
	// +k8s:minimum=1
	// +k8s:maximum=9
	// +k8s:optional
	Bounded int `json:"bounded"`
}

// Port is a port.
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:Maximum=65535
// +kubebuilder:validation:ExclusiveMinimum=true
// +kubebuilder:validation:ExclusiveMaximum=true
// +kubebuilder:validation:MultipleOf=1
// +kubebuilder:title="A port"
type Port int32

// Evens are even.
// +kubebuilder:validation:items:Minimum=0
// +kubebuilder:validation:items:Maximum=10
// +kubebuilder:validation:items:ExclusiveMinimum=true
// +kubebuilder:validation:items:ExclusiveMaximum=true
// +kubebuilder:validation:items:MultipleOf=2
// +kubebuilder:validation:items:Enum=2;4
// +kubebuilder:validation:items:Type=integer
// +kubebuilder:validation:items:Format=int32
type Evens []Even

// Even is a number.
type Even int

// Sizes has every size.
type Sizes struct {
	I   int    `json:"i"`
	I8  int8   `json:"i8"`
	I16 int16  `json:"i16"`
	I32 int32  `json:"i32"`
	I64 int64  `json:"i64"`
	U   uint   `json:"u"`
	U8  uint8  `json:"u8"`
	U16 uint16 `json:"u16"`
	U32 uint32 `json:"u32"`
	U64 uint64 `json:"u64"`
	B   byte   `json:"b"`
	R   rune   `json:"r"`
	On  bool   `json:"on"`
	// Left is not written.
	Left int `json:"-"`
	// Dash is written as a dash.
	Dash int `json:"-,omitempty"`
}

// NumbersStatus is what is seen.
type NumbersStatus struct {
	Replicas int32  `json:"replicas"`
	Selector string `json:"selector,omitempty"`
}

// +kubebuilder:object:root=true

// NumbersList has several.
type NumbersList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Numbers `json:"items"`
}
