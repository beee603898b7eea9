package main

import (
	"context"
	"fmt"
	"html"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/operon-framework/operon"

	v1 "github.com/operon-framework/operon/examples/site/api/v1"
)

// What the operator may do. `go generate` writes config/rbac/role.yaml from it.
//
// +kubebuilder:rbac:groups=web.example.com,resources=sites,verbs=get;list;watch
// +kubebuilder:rbac:groups=web.example.com,resources=sites/status,verbs=patch
// +kubebuilder:rbac:groups=web.example.com,resources=sites/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=configmaps;services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update
//
// For its webhooks and rules, on objects of its own names:
//
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,resourceNames=site-operator-webhook-certificates,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations;mutatingwebhookconfigurations,resourceNames=site-operator,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=site-operator.site.web.example.com,verbs=get;list;watch;create;patch;delete
//
// For the versions of its kind: to convert them, and to store all objects in the latest one:
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=sites.web.example.com,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=sites.web.example.com,verbs=update
// +kubebuilder:rbac:groups=web.example.com,resources=sites,verbs=patch

const (
	// port is the one that servers listen on.
	port = 8080
	// frontPage is what they show first.
	frontPage = "index.html"
)

// Site keeps the servers of a web site running.
type Site struct{}

// Compose declares the pages, the servers and the Service that leads to them.
func (Site) Compose(_ context.Context, s *v1.Site, out *operon.Composition) error {
	out.Child(pages(s))
	out.Child(servers(s))
	out.Child(service(s))
	return nil
}

// Observe tells where the site is.
func (Site) Observe(_ context.Context, s *v1.Site, _ *operon.Observed) error {
	s.Status.URL = "https://" + s.Spec.Host
	return nil
}

func pages(s *v1.Site) *corev1.ConfigMap {
	content := map[string]string{frontPage: fmt.Sprintf("<title>%[1]s</title><h1>%[1]s</h1>\n", html.EscapeString(s.Spec.Title))}
	maps.Copy(content, s.Spec.Pages)
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.Name}, Data: content}
}

func servers(s *v1.Site) *appsv1.Deployment {
	labels := labelsOf(s)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &s.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers: []corev1.Container{server()},
					Volumes: []corev1.Volume{{Name: "pages", VolumeSource: corev1.VolumeSource{
						ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: s.Name}},
					}}},
				},
			},
		},
	}
}

func server() corev1.Container {
	return corev1.Container{
		Name:         "server",
		Image:        "nginxinc/nginx-unprivileged:1.29-alpine",
		Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: port}},
		VolumeMounts: []corev1.VolumeMount{{Name: "pages", MountPath: "/usr/share/nginx/html", ReadOnly: true}},
	}
}

func service(s *v1.Site) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name},
		Spec: corev1.ServiceSpec{
			Selector: labelsOf(s),
			Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}},
		},
	}
}

func labelsOf(s *v1.Site) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "site", "app.kubernetes.io/instance": s.Name}
}
