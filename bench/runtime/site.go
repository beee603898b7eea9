package main

import (
	_ "embed"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// siteCRD is the CRD of the kind that both operators manage.
//
//go:embed site.yaml
var siteCRD []byte

var siteVersion = schema.GroupVersion{Group: "bench.operon.dev", Version: "v1"}

// Site is a web site: a Deployment that serves it, a Service for the Deployment, and a ConfigMap with its page.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SiteSpec   `json:"spec,omitempty"`
	Status SiteStatus `json:"status,omitempty"`
}

// SiteSpec is the desired state of a Site.
type SiteSpec struct {
	Replicas int32  `json:"replicas"`
	Page     string `json:"page"`
}

// SiteStatus is the observed state of a Site.
type SiteStatus struct {
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
}

// SiteList is a list of sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Site `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (s *Site) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = append([]metav1.Condition(nil), s.Status.Conditions...)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *SiteList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Site, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Site)
	}
	return &out
}

// addToScheme registers the kind.
func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(siteVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(scheme, siteVersion)
	return nil
}

func labelsOf(s *Site) map[string]string {
	return map[string]string{"app.kubernetes.io/instance": s.Name}
}

func metaOf(s *Site) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace, Labels: labelsOf(s)}
}

func typeOf(kind, version string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: version}
}

func deploymentOf(s *Site) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   typeOf("Deployment", "apps/v1"),
		ObjectMeta: metaOf(s),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(s.Spec.Replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labelsOf(s)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(s)},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{{
						Name: "web", Image: "example/web:1",
						Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
						VolumeMounts: []corev1.VolumeMount{{Name: "page", MountPath: "/page"}},
					}},
					Volumes: []corev1.Volume{{Name: "page", VolumeSource: corev1.VolumeSource{
						ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: s.Name}},
					}}},
				},
			},
		},
	}
}

func serviceOf(s *Site) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   typeOf("Service", "v1"),
		ObjectMeta: metaOf(s),
		Spec:       corev1.ServiceSpec{Selector: labelsOf(s), Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

func configMapOf(s *Site) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: typeOf("ConfigMap", "v1"), ObjectMeta: metaOf(s), Data: map[string]string{"index.html": s.Spec.Page}}
}
