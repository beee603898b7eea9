package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/podrequest/api/v1alpha1"
)

// PodRequest is the composer of PodRequests: one pod for each.
type PodRequest struct{}

// Compose declares the pod. Most fields of a pod are immutable, so a change of the spec replaces the pod.
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
		// Also for an image without a tag: an image that the node has is not pulled.
		ImagePullPolicy: corev1.PullIfNotPresent,
		// The image of a pod is mutable and its environment is not: a change of the image replaces the pod, too.
		Env: []corev1.EnvVar{{Name: "POD_REQUEST_IMAGE", Value: r.Spec.Image}},
	}
}
