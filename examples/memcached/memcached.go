package main

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/memcached/api/v1alpha1"
)

// port is the port of memcached.
const port = 11211

// Memcached keeps spec.size memcached servers running.
type Memcached struct{}

// Compose declares the Deployment of the servers.
func (Memcached) Compose(_ context.Context, m *v1alpha1.Memcached, out *operon.Composition) error {
	out.Child(deployment(m))
	return nil
}

// Observe reports the existing pods.
func (Memcached) Observe(ctx context.Context, m *v1alpha1.Memcached, seen *operon.Observed) error {
	var pods corev1.PodList
	if err := seen.List(ctx, &pods, podLabels(m)); err != nil {
		return err
	}
	m.Status.Nodes = nil
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			m.Status.Nodes = append(m.Status.Nodes, pod.Name)
		}
	}
	slices.Sort(m.Status.Nodes)
	m.Status.Replicas = int32(len(m.Status.Nodes))
	m.Status.Selector = labels.Set(podLabels(m)).String()
	return nil
}

func deployment(m *v1alpha1.Memcached) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: podLabels(m)},
		Spec: appsv1.DeploymentSpec{
			Replicas: &m.Spec.Size,
			Selector: &metav1.LabelSelector{MatchLabels: podLabels(m)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels(m)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{server()}},
			},
		},
	}
}

func server() corev1.Container {
	return corev1.Container{
		Name:           "memcached",
		Image:          "memcached:1.6-alpine",
		Args:           []string{"memcached", "--memory-limit=64", "--extended=modern"},
		Ports:          []corev1.ContainerPort{{Name: "memcached", ContainerPort: port}},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}}},
	}
}

func podLabels(m *v1alpha1.Memcached) client.MatchingLabels {
	return client.MatchingLabels{
		"app.kubernetes.io/name":     "memcached",
		"app.kubernetes.io/instance": m.Name,
	}
}
