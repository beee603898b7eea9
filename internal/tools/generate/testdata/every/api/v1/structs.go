package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/web/pkg/shared"
)

// Structs are put together from others.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Structs struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is what is wanted.
	// +kubebuilder:validation:XValidation:rule="!has(self.first) || self.first != ''",message="first is empty",fieldPath=".first",reason=FieldValueInvalid
	// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || true",messageExpression="'no ' + self.third",optionalOldSelf=true
	Spec StructsSpec `json:"spec"`
	// Status is what is seen.
	Status shared.Status `json:"status,omitempty"`
}

// StructsSpec embeds others.
// +kubebuilder:validation:XValidation:rule="self.third != self.first",message="first and third must differ"
// +kubebuilder:validation:ExactlyOneOf=alpha;beta
// +kubebuilder:validation:AtMostOneOf=gamma;delta
// +kubebuilder:validation:AtLeastOneOf=epsilon;zeta
type StructsSpec struct {
	// Embedded has no name here.
	Embedded `json:",inline"`
	// *Pointed is a pointer.
	*Pointed      `json:",inline"`
	shared.Common `json:",inline"`
	// Named has one.
	Named Embedded `json:"named,omitempty"`
	// Third stands here.
	// +kubebuilder:validation:MaxLength=5
	Third string `json:"third"`

	Alpha   *string `json:"alpha,omitempty"`
	Beta    *string `json:"beta,omitempty"`
	Gamma   *string `json:"gamma,omitempty"`
	Delta   *string `json:"delta,omitempty"`
	Epsilon *string `json:"epsilon,omitempty"`
	Zeta    *string `json:"zeta,omitempty"`

	// Limits come from another package, with rules here.
	// +kubebuilder:default={}
	Limits shared.Limits `json:"limits,omitempty"`
	// Choices come from another package.
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	Choices shared.Choices `json:"choices,omitempty"`
	// Text knows how to write itself.
	Text shared.Text `json:"text,omitempty"`
	// Texts has keys that know how to write themselves.
	Texts map[shared.Text]string `json:"texts,omitempty"`
	// Either is written as a number or a text.
	Either shared.Either `json:"either,omitempty"`
	// Tree has trees.
	Tree *Tree `json:"tree,omitempty"`
	// Rules are several structs with rules.
	// +kubebuilder:validation:items:XValidation:rule="self.first != ''",message="empty",reason=FieldValueRequired,fieldPath=".first"
	Rules []Embedded `json:"rules,omitempty"`
}

// Embedded is put into others.
type Embedded struct {
	// First is the first.
	// +optional
	First string `json:"first"`
}

// Pointed is put into others.
type Pointed struct {
	// Second is the second.
	Second int `json:"second,omitempty"`
}

// Tree has trees, which a schema cannot say.
type Tree struct {
	Name string `json:"name"`
	// Left and Right are trees.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Left *Tree `json:"left,omitempty"`
	// Children are trees.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=array
	Children []Tree `json:"children,omitempty"`
}

// +kubebuilder:object:generate=false

// Internal is in no object, and nobody copies it.
type Internal[T any] struct {
	Values []T
}

// Of is a function with a type parameter.
func Of[T any](value T) Internal[T] { return Internal[T]{Values: []T{value}} }
