// Package v1 has the kinds of the projects beside it.
//
// +groupName=shops.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operon-framework/operon/durable/journal"
)

func AddToScheme(*runtime.Scheme) error { return nil }

type Spec struct {
	Name, Namespace string
	Wanted          bool
	Many            []string
}

type Status struct {
	ObservedGeneration int64
	Conditions         []metav1.Condition
	Journal            *journal.Journal
}

type Shop struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   Spec
	Status Status
}

func (s *Shop) DeepCopyObject() runtime.Object { copied := *s; return &copied }

// Mall is in no namespace, and has a plural of its own.
//
// +kubebuilder:resource:path=mallen,scope=Cluster
type Mall struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   Spec
	Status Status
}

func (m *Mall) DeepCopyObject() runtime.Object { copied := *m; return &copied }

// Old is converted.
type Old struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   Spec
	Status Status
}

func (o *Old) DeepCopyObject() runtime.Object { copied := *o; return &copied }

func (*Old) Hub() {}

// Day has no generated methods.
type Day struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}
