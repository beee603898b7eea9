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

const (
	// port is the port of the servers.
	port = 8080
	// frontPage is the file of the front page.
	frontPage = "index.html"
)

// Site manages the servers of a web site.
type Site struct{}

// Compose declares the pages, the servers and the Service for the servers.
func (Site) Compose(_ context.Context, s *v1.Site, out *operon.Composition) error {
	out.Child(pages(s))
	out.Child(servers(s))
	out.Child(service(s))
	return nil
}

// Observe reports the URL of the site.
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
