package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Texts has texts, in several lines
// of description, with "quotes": and a colon.
//
//		An indented line.
//
//	  - a point
//	  - another
//
// TODO(somebody): this is left out.
// ---
// And so is this.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName={tx}
// +kubebuilder:externalDocs:url="https://every.test/texts",description="More about texts"
type Texts struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TextsSpec `json:"spec"`
}

// TextsSpec has texts.
type TextsSpec struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:example=web
	// +kubebuilder:title=Name
	Name string `json:"name"`
	// Address is in a format.
	// +kubebuilder:validation:Format=ipv4
	// +kubebuilder:validation:Type=string
	// +kubebuilder:externalDocs:url="https://every.test/address"
	// +nullable
	Address *string `json:"address"`
	// Color is one of some.
	// +kubebuilder:validation:Enum=red;green;"light blue";""
	// +kubebuilder:default=red
	Color string `json:"color,omitempty"`
	// Mode is one of the constants.
	// +optional
	Mode Mode `json:"mode"`
	// Level is one of those that are listed with the type.
	// +required
	Level Level `json:"level,omitempty"`
	// Label has a type with rules.
	Label Label `json:"label"`
	// Blob is bytes.
	Blob []byte `json:"blob,omitempty"`
	// Secret is written once.
	// +k8s:immutable
	// +k8s:optional
	Secret string `json:"secret,omitempty"`
	// ID is written once, and must be.
	// +k8s:immutable
	// +k8s:required
	ID string `json:"id"`
	// Old is as kubebuilder's first markers were.
	// +kubebuilder:validation:Required
	Old string `json:"old,omitempty"`
	// Older may be left out.
	// +kubebuilder:validation:Optional
	Older string `json:"older"`
	// Plain has a default as Kubernetes' own types do.
	// +default="x"
	Plain string `json:"plain,omitempty"`
	// Named has constants.
	Named Tone `json:"named,omitempty"`
	// Codes are several.
	// +kubebuilder:validation:items:MinLength=2
	// +kubebuilder:validation:items:MaxLength=4
	// +kubebuilder:validation:items:Pattern=`^[A-Z]+$`
	// +kubebuilder:validation:items:Format=alpha
	// +kubebuilder:validation:items:Type=string
	Codes []string `json:"codes,omitempty"`
	// Labels are several of a type of their own.
	Labels Labels `json:"labels,omitempty"`
}

// Mode is one of its constants.
// +k8s:enum
type Mode string

// The modes.
const (
	// ModeFast is fast.
	ModeFast Mode = "Fast"
	ModeSlow Mode = "Slow"
	// ModeNone is an empty one.
	ModeNone Mode = ""
)

// Tone is a text with constants.
// +k8s:enum
type Tone string

// The tones.
const (
	ToneLow  Tone = "low"
	ToneHigh Tone = "high"
)

// Level is one of those that are listed.
// +kubebuilder:validation:Enum={low,"high",3}
type Level string

// Label is a text with rules.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=10
// +kubebuilder:validation:Pattern="^[a-z]+$"
// +kubebuilder:validation:Format=label
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:XValidation:rule="self != 'root'",message="root is taken",reason="FieldValueForbidden"
type Label string

// Labels are labels.
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=9
// +kubebuilder:validation:items:Pattern=`^[a-y]+$`
type Labels []Label
