package operon_test

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon"
)

// Box is the kind that the tests' operators manage.
type Box struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BoxSpec   `json:"spec,omitempty"`
	Status BoxStatus `json:"status,omitempty"`
}

// BoxSpec is what a test wants its composer to see.
type BoxSpec struct {
	Data map[string]string `json:"data,omitempty"`
}

// BoxStatus holds what an observer saw.
type BoxStatus struct {
	Seen               []string           `json:"seen,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// BoxList is a list of Boxes.
type BoxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Box `json:"items"`
}

// DeepCopyObject copies through JSON, which is short and good enough for a test.
func (b *Box) DeepCopyObject() runtime.Object { return copied(b) }

// DeepCopyObject is as that of Box.
func (l *BoxList) DeepCopyObject() runtime.Object { return copied(l) }

func copied[T any](in *T) *T {
	data, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		panic(err)
	}
	return out
}

func addBox(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "test.operon.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Box{}, &BoxList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}

// compose is a composer that is a function.
type compose func(*Box, *operon.Composition) error

func (c compose) Compose(_ context.Context, b *Box, out *operon.Composition) error { return c(b, out) }

// observing is a composer that observes too.
type observing struct {
	compose
	observe func(context.Context, *Box, *operon.Observed) error
}

func (o observing) Observe(ctx context.Context, b *Box, seen *operon.Observed) error {
	return o.observe(ctx, b, seen)
}
