package metrics

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/metrics/pkg/apis/metrics"
)

// sample is a resource usage, measured at a time and over a window that ends at that time.
type sample struct {
	at     time.Time
	window time.Duration
	usage  corev1.ResourceList
}

// containers are the samples of a pod's containers, by name.
type containers map[string]sample

// add adds amounts to a sum.
func add(sum, amounts corev1.ResourceList) {
	for name, amount := range amounts {
		total := sum[name]
		total.Add(amount)
		sum[name] = total
	}
}

// podMetrics returns nil unless there is a sample of every running container: an incomplete sum would be mistaken for the usage
// of the pod.
func podMetrics(pod *corev1.Pod, samples containers) *metrics.PodMetrics {
	names := runningContainers(pod)
	if len(names) == 0 {
		return nil
	}
	figures := &metrics.PodMetrics{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels, CreationTimestamp: metav1.Now(),
	}}
	for _, name := range names {
		one, is := samples[name]
		if !is {
			return nil
		}
		if figures.Timestamp.IsZero() || one.at.Before(figures.Timestamp.Time) {
			figures.Timestamp = metav1.NewTime(one.at)
		}
		figures.Window = metav1.Duration{Duration: one.window}
		figures.Containers = append(figures.Containers, metrics.ContainerMetrics{Name: name, Usage: one.usage})
	}
	return figures
}

func nodeMetrics(node *corev1.Node, s sample) metrics.NodeMetrics {
	return metrics.NodeMetrics{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: metav1.Now()},
		Timestamp:  metav1.NewTime(s.at),
		Window:     metav1.Duration{Duration: s.window},
		Usage:      s.usage,
	}
}

// runningContainers returns the names of a pod's running containers, including sidecars.
func runningContainers(pod *corev1.Pod) []string {
	var names []string
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].State.Running != nil {
				names = append(names, statuses[i].Name)
			}
		}
	}
	return names
}
