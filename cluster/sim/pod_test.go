package sim_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newPod(annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}}},
	}
}

func TestPodIsRunningAndReady(t *testing.T) {
	t.Parallel()
	client, namespace := simulate(t), newNamespace(t)
	pod := newPod(nil)
	if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitObject(t, "a ready pod", func(ctx context.Context) (*corev1.Pod, error) {
		return client.CoreV1().Pods(namespace).Get(ctx, "web", metav1.GetOptions{})
	}, func(pod *corev1.Pod) bool {
		for _, c := range pod.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				return true
			}
		}
		return false
	})
}
