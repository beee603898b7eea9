package metrics

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/cluster/internal/sim"
)

func simulated(node *corev1.Node) bool { return node.Labels[sim.NodeLabel] == "true" }

// simulate returns the usage of the running containers of a simulated pod.
func simulate(pod *corev1.Pod) containers {
	now, samples := time.Now(), containers{}
	for _, name := range runningContainers(pod) {
		if usage, known := sim.Usage(pod, name); known {
			samples[name] = sample{now, timing.simulatedWindow, usage}
		}
	}
	return samples
}
