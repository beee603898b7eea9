package metrics

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/metrics/pkg/apis/metrics"
)

// reader computes the usage at the time of a request.
type reader struct {
	core typedcorev1.CoreV1Interface
}

// cached is the resource version for which the API server responds from its cache.
const cached = "0"

// running selects pods that may have running containers.
var running = fields.OneTermEqualSelector("status.phase", string(corev1.PodRunning)).String()

// pods returns the usage of the selected pods that run on ready nodes.
func (r *reader) pods(ctx context.Context, namespace string, selected metav1.ListOptions) ([]metrics.PodMetrics, error) {
	if selected.FieldSelector != "" {
		selected.FieldSelector += ","
	}
	selected.FieldSelector += running
	list, err := r.core.Pods(namespace).List(ctx, selected)
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	all, err := r.core.Nodes().List(ctx, metav1.ListOptions{ResourceVersion: cached})
	if err != nil {
		return nil, err
	}
	used := nodesOf(list.Items, readyOf(all.Items))
	measured := r.measure(ctx, used)
	var found []metrics.PodMetrics
	for i := range list.Items {
		pod := &list.Items[i]
		samples := measured[pod.Spec.NodeName].pods[pod.UID]
		if node, there := used[pod.Spec.NodeName]; there && simulated(node) {
			samples = simulate(pod)
		}
		if figures := podMetrics(pod, samples); figures != nil {
			found = append(found, *figures)
		}
	}
	return found, nil
}

// nodes returns the usage of the selected nodes that are ready.
func (r *reader) nodes(ctx context.Context, selected metav1.ListOptions) ([]metrics.NodeMetrics, error) {
	list, err := r.core.Nodes().List(ctx, selected)
	if err != nil {
		return nil, err
	}
	ready := readyOf(list.Items)
	samples, err := r.simulateNodes(ctx, ready)
	if err != nil {
		return nil, err
	}
	for name, kubelet := range r.measure(ctx, ready) {
		if kubelet.node != nil {
			samples[name] = *kubelet.node
		}
	}
	var found []metrics.NodeMetrics
	for i := range list.Items {
		if figures, known := samples[list.Items[i].Name]; known {
			found = append(found, nodeMetrics(&list.Items[i], figures))
		}
	}
	return found, nil
}

// simulateNodes returns the usage of the simulated nodes in of: the sum of their pods.
func (r *reader) simulateNodes(ctx context.Context, of map[string]*corev1.Node) (map[string]sample, error) {
	samples := map[string]sample{}
	for name, node := range of {
		if simulated(node) {
			samples[name] = sample{time.Now(), timing.simulatedWindow, corev1.ResourceList{corev1.ResourceCPU: {}, corev1.ResourceMemory: {}}}
		}
	}
	if len(samples) == 0 {
		return samples, nil
	}
	list, err := r.core.Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{ResourceVersion: cached, FieldSelector: running})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		node, is := samples[list.Items[i].Spec.NodeName]
		if !is {
			continue
		}
		for _, one := range simulate(&list.Items[i]) {
			add(node.usage, one.usage)
		}
	}
	return samples, nil
}

// readyOf returns the ready nodes by name.
func readyOf(list []corev1.Node) map[string]*corev1.Node {
	ready := map[string]*corev1.Node{}
	for i := range list {
		for _, condition := range list[i].Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready[list[i].Name] = &list[i]
			}
		}
	}
	return ready
}

// nodesOf returns the nodes in of on which the pods run.
func nodesOf(pods []corev1.Pod, of map[string]*corev1.Node) map[string]*corev1.Node {
	used := map[string]*corev1.Node{}
	for i := range pods {
		if node, there := of[pods[i].Spec.NodeName]; there {
			used[node.Name] = node
		}
	}
	return used
}
