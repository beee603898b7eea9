package operontest_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/box"
)

// Lamp is the kind that the tests of the kit use.
type Lamp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   LampSpec   `json:"spec,omitempty"`
	Status LampStatus `json:"status,omitempty"`
}

// LampSpec is the desired state of a Lamp.
type LampSpec struct {
	Watts int32    `json:"watts,omitempty"`
	Rooms []string `json:"rooms,omitempty"`
}

// LampStatus is the observed state of a Lamp.
type LampStatus struct {
	Switches           []string           `json:"switches,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// LampList is a list of Lamps.
type LampList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Lamp `json:"items"`
}

// DeepCopyObject copies through JSON, which is good enough for a test.
func (l *Lamp) DeepCopyObject() runtime.Object { return box.Copied(l) }

// DeepCopyObject copies through JSON, like that of Lamp.
func (l *LampList) DeepCopyObject() runtime.Object { return box.Copied(l) }

func addLamp(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "kit.operon.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Lamp{}, &LampList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}

// compose is a composer in the form of a function.
type compose func(*Lamp, *operon.Composition) error

func (c compose) Compose(_ context.Context, l *Lamp, out *operon.Composition) error { return c(l, out) }

// lit composes one ConfigMap with the watts, and reads the ConfigMaps that are its switches.
type lit struct{}

func (lit) Compose(_ context.Context, l *Lamp, out *operon.Composition) error {
	out.Child(config(l.Name, "watts", string(rune('0'+l.Spec.Watts))))
	return nil
}

func (lit) Observe(ctx context.Context, l *Lamp, seen *operon.Observed) error {
	var switches corev1.ConfigMapList
	if err := seen.List(ctx, &switches, client.MatchingLabels{"switch": l.Name}); err != nil {
		return err
	}
	l.Status.Switches = nil
	for _, found := range switches.Items {
		l.Status.Switches = append(l.Status.Switches, found.Name)
	}
	return nil
}

// config returns a ConfigMap with one entry.
func config(name, key, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{key: value}}
}

// lamp returns a Lamp with a number of watts.
func lamp(watts int32) *Lamp {
	return &Lamp{ObjectMeta: metav1.ObjectMeta{Name: "desk"}, Spec: LampSpec{Watts: watts}}
}
