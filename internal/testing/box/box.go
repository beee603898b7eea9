// Package box contains the kind that operators in tests manage, which test/testdata/boxes.yaml defines. A Box contains data,
// and the composer of each test uses the data for the purpose of the test.
package box

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/durable/journal"
)

// Box is the kind that operators in tests manage.
type Box struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BoxSpec   `json:"spec,omitempty"`
	Status BoxStatus `json:"status,omitempty"`
}

// BoxSpec contains the data for the composer of a test.
type BoxSpec struct {
	Data map[string]string `json:"data,omitempty"`
}

// BoxStatus is the status that the operator reports.
type BoxStatus struct {
	// Seen is the result of an observer.
	Seen               []string `json:"seen,omitempty"`
	ObservedGeneration int64    `json:"observedGeneration,omitempty"`
	// Journal is the journal of a workflow's steps.
	Journal    *journal.Journal   `json:"journal,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BoxList is a list of Boxes.
type BoxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Box `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (b *Box) DeepCopyObject() runtime.Object { return Copied(b) }

// DeepCopyObject implements runtime.Object.
func (l *BoxList) DeepCopyObject() runtime.Object { return Copied(l) }

// Copied returns a copy that is created through JSON, for kinds in tests.
func Copied[T any](in *T) *T {
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

// AddToScheme registers the kind in a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "test.operon.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Box{}, &BoxList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
