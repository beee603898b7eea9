package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/podrequest/api/v1alpha1"
)

// PodRequest keeps one pod for each request.
type PodRequest struct{}

// Compose declares the pod. Most of a pod cannot be changed, so that another spec is another pod.
func (PodRequest) Compose(_ context.Context, r *v1alpha1.PodRequest, out *operon.Composition) error {
	out.Child(pod(r), operon.Replace())
	return nil
}

func pod(r *v1alpha1.PodRequest) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: r.Name, Labels: map[string]string{"app": r.Name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container(r)}},
	}
}

func container(r *v1alpha1.PodRequest) corev1.Container {
	return corev1.Container{
		Name:    r.Spec.Name,
		Image:   r.Spec.Image,
		Command: r.Spec.Command,
		// Also of an image without a tag: what the node has needs no registry.
		ImagePullPolicy: corev1.PullIfNotPresent,
		// The image of a pod could be changed while it runs. Its environment cannot: another image is
		// another pod, too.
		Env: []corev1.EnvVar{{Name: "POD_REQUEST_IMAGE", Value: r.Spec.Image}},
	}
}
