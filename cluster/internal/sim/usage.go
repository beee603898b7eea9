package sim

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The usage of a container without usage annotations: almost nothing, like an idle program.
var (
	idleCPU    = resource.MustParse("1m")
	idleMemory = resource.MustParse("1Mi")
)

// Usage returns the usage of a running container of a simulated pod. It returns false if the usage is unknown because the pod
// is cut off or its annotations are invalid.
func Usage(pod *corev1.Pod, container string) (corev1.ResourceList, bool) {
	if pod.Annotations[FailAnnotation] == FailLost {
		return nil, false
	}
	cpu, err := readAmounts(pod, UsageCPUAnnotation)
	if err != nil {
		return nil, false
	}
	memory, err := readAmounts(pod, UsageMemoryAnnotation)
	if err != nil {
		return nil, false
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:    cpu.of(container, idleCPU),
		corev1.ResourceMemory: memory.of(container, idleMemory),
	}, true
}

// amounts are the values of an annotation by container. The empty name stands for all other containers.
type amounts map[string]resource.Quantity

func (a amounts) of(container string, otherwise resource.Quantity) resource.Quantity {
	if amount, told := a[container]; told {
		return amount
	}
	if amount, told := a[""]; told {
		return amount
	}
	return otherwise
}

// readAmounts reads an annotation such as 250m, or web=250m,log=10m.
func readAmounts(pod *corev1.Pod, annotation string) (amounts, error) {
	value, annotated := pod.Annotations[annotation]
	if !annotated {
		return nil, nil
	}
	read := amounts{}
	for _, part := range strings.Split(value, ",") {
		name, text, named := strings.Cut(part, "=")
		if !named {
			name, text = "", part
		}
		name = strings.TrimSpace(name)
		if named && !slices.Contains(containerNames(pod), name) {
			return nil, fmt.Errorf("annotation %s: the pod has no container %q; it has %s",
				annotation, name, strings.Join(containerNames(pod), ", "))
		}
		amount, err := resource.ParseQuantity(strings.TrimSpace(text))
		if err != nil || amount.Sign() < 0 {
			return nil, fmt.Errorf("annotation %s: %q is not an amount; use one such as 250m or 64Mi, for certain containers web=250m,log=10m",
				annotation, part)
		}
		read[name] = amount
	}
	return read, nil
}

func containerNames(pod *corev1.Pod) []string {
	var names []string
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			names = append(names, containers[i].Name)
		}
	}
	return names
}
