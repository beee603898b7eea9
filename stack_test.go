package operon_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
)

// Stack is the kind that the runtime is tested with. Its spec says what its composer does.
type Stack struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              StackSpec   `json:"spec"`
	Status            StackStatus `json:"status,omitempty"`
}

type StackSpec struct {
	// Maps are the names of ConfigMaps, each with Text in it.
	Maps []string `json:"maps,omitempty"`
	Text string   `json:"text,omitempty"`
	// Size, unless 0, is that of a Deployment.
	Size int32 `json:"size,omitempty"`
	// Elsewhere is a namespace that gets a ConfigMap of the stack's name.
	Elsewhere string `json:"elsewhere,omitempty"`
	Panic     bool   `json:"panic,omitempty"`
}

type StackStatus struct {
	Pods               int                `json:"pods,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

func (s *Stack) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Maps = append([]string(nil), s.Spec.Maps...)
	out.Status.Conditions = append([]metav1.Condition(nil), s.Status.Conditions...)
	return &out
}

type StackList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Stack `json:"items"`
}

func (l *StackList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Stack))
	}
	return &out
}

func addStacks(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "runtime.operon.dev", Version: "v1"}
	scheme.AddKnownTypes(version, &Stack{}, &StackList{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}

// stacks composes a Stack.
type stacks struct{}

func (stacks) Compose(_ context.Context, s *Stack, out *operon.Composition) error {
	if s.Spec.Panic {
		panic("asked to")
	}
	for _, name := range s.Spec.Maps {
		out.Child(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"text": s.Spec.Text}})
	}
	if s.Spec.Size > 0 {
		out.Child(web(s))
	}
	if s.Spec.Elsewhere != "" {
		out.Child(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Spec.Elsewhere}})
	}
	return nil
}

func (stacks) Observe(ctx context.Context, s *Stack, seen *operon.Observed) error {
	var pods corev1.PodList
	if err := seen.List(ctx, &pods, podLabels(s)); err != nil {
		return err
	}
	s.Status.Pods = len(pods.Items)
	return nil
}

func podLabels(s *Stack) client.MatchingLabels { return client.MatchingLabels{"stack": s.Name} }

// web is a Deployment in which the server fills in much and writes a quantity its way.
func web(s *Stack) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &s.Spec.Size,
			Selector: &metav1.LabelSelector{MatchLabels: podLabels(s)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels(s)},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:      "web",
					Image:     "web:1",
					Ports:     []corev1.ContainerPort{{ContainerPort: 80}},
					Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m")}},
				}}},
			},
		},
	}
}
