// Package shared has types that others use.
// +kubebuilder:object:generate=true
package shared

// Common is put into others.
type Common struct {
	// Shared is there for all.
	Shared bool `json:"shared,omitempty"`
}

// Status is what is seen.
type Status struct {
	// Phase is where it stands.
	Phase Phase `json:"phase,omitempty"`
}

// Phase is a text.
// +kubebuilder:validation:Enum=Pending;Ready
type Phase string

// Limits bound.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=3
type Limits map[string]int64

// Choices are several.
type Choices []string

// Text writes itself.
// +kubebuilder:validation:Pattern=`^\d+$`
type Text struct {
	value string
}

// MarshalText writes it.
func (t Text) MarshalText() (text []byte, err error) { return []byte(t.value), nil }

// UnmarshalText reads it.
func (t *Text) UnmarshalText(text []byte) error {
	t.value = string(text)
	return nil
}

// Either writes itself as it likes.
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Format=either
type Either struct {
	Number int
}

// MarshalJSON writes it.
func (e Either) MarshalJSON() ([]byte, error) { return []byte(`"1"`), nil }

// UnmarshalJSON reads it.
func (e *Either) UnmarshalJSON([]byte) error { return nil }
