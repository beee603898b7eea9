package v1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Known has types of Kubernetes'.
// +kubebuilder:object:root=true
type Known struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              KnownSpec `json:"spec,omitempty"`
	// Conditions are as everywhere.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// KnownSpec has types of Kubernetes'.
type KnownSpec struct {
	Either intstr.IntOrString `json:"either"`
	// +kubebuilder:default="50%"
	EitherToo *intstr.IntOrString    `json:"eitherToo,omitempty"`
	Amount    resource.Quantity      `json:"amount"`
	Amounts   corev1.ResourceList    `json:"amounts,omitempty"`
	When      metav1.Time            `json:"when,omitempty"`
	Exactly   metav1.MicroTime       `json:"exactly,omitempty"`
	Long      *metav1.Duration       `json:"long,omitempty"`
	Selector  *metav1.LabelSelector  `json:"selector,omitempty"`
	Any       *apiextensionsv1.JSON  `json:"any,omitempty"`
	Anys      []apiextensionsv1.JSON `json:"anys,omitempty"`
	// Raw is anything that is an object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Raw runtime.RawExtension `json:"raw,omitempty"`
	// Object is an object within.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:validation:XPreserveUnknownFields
	Object runtime.RawExtension `json:"object,omitempty"`
	// Objects are several.
	// +kubebuilder:validation:items:XEmbeddedResource
	// +kubebuilder:validation:items:XPreserveUnknownFields
	Objects []runtime.RawExtension `json:"objects,omitempty"`
	// Whole is an object, told by its type.
	Whole Whole `json:"whole,omitempty"`
	// Wholes are several, told by their type.
	Wholes Wholes `json:"wholes,omitempty"`
	// Percents are several, told by their type.
	Percents Percents `json:"percents,omitempty"`
	// Percent is either, told by a marker.
	// +kubebuilder:validation:XIntOrString
	Percent Percent `json:"percent,omitempty"`
	// PercentsHere are several, told by a marker.
	// +kubebuilder:validation:items:XIntOrString
	PercentsHere []intstr.IntOrString `json:"percentsHere,omitempty"`
	// Loose keeps what it does not know.
	Loose Loose `json:"loose,omitempty"`
	// Free has no schema.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Free Loose `json:"free,omitempty"`
	// Inner is an object whose metadata is cut off.
	Inner unstructured.Unstructured `json:"inner,omitempty"`
	// Template has metadata of its own.
	Template corev1.PodTemplateSpec `json:"template,omitempty"`
	// Ref points.
	Ref *corev1.ObjectReference `json:"ref,omitempty"`
	// Null may be null.
	// +nullable
	Null []string `json:"null,omitempty"`
	// Embedded is an object with a marker.
	// +kubebuilder:validation:XEmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Embedded runtime.RawExtension `json:"embedded,omitempty"`
}

// Whole is an object.
// +kubebuilder:validation:XEmbeddedResource
// +kubebuilder:validation:XPreserveUnknownFields
// +kubebuilder:validation:Type=object
type Whole struct {
	runtime.RawExtension `json:",inline"`
}

// Wholes are objects.
// +kubebuilder:validation:items:XEmbeddedResource
// +kubebuilder:validation:items:XPreserveUnknownFields
type Wholes []runtime.RawExtension

// Percent is a number or a text.
// +kubebuilder:validation:XIntOrString
type Percent intstr.IntOrString

// Percents are several.
// +kubebuilder:validation:items:XIntOrString
type Percents []intstr.IntOrString

// Loose keeps what it does not know.
// +kubebuilder:pruning:PreserveUnknownFields
type Loose struct {
	A string `json:"a,omitempty"`
}
