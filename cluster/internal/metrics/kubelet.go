package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

const (
	// asked is the maximum number of kubelets that are queried at the same time.
	asked = 8
)

// measurement is the usage that a kubelet reports.
type measurement struct {
	node *sample
	pods map[types.UID]containers
}

// measure queries the kubelets of the nodes that are not simulated. A kubelet that does not respond is omitted: only its usage
// is unknown.
func (r *reader) measure(ctx context.Context, nodes map[string]*corev1.Node) map[string]measurement {
	var mu sync.Mutex
	found := map[string]measurement{}
	var group errgroup.Group
	group.SetLimit(asked)
	for name, node := range nodes {
		if simulated(node) {
			continue
		}
		group.Go(func() error {
			summary, err := r.summary(ctx, name)
			if err != nil {
				klog.ErrorS(err, "The usage of a node is unknown", "node", name)
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			found[name] = measured(summary)
			return nil
		})
	}
	_ = group.Wait() // the function never returns an error
	return found
}

// summary queries a kubelet for the usage of its node and pods.
func (r *reader) summary(ctx context.Context, node string) (*stats.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, timing.kubeletTimeout)
	defer cancel()
	data, err := r.core.RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("stats/summary").
		Param("only_cpu_and_memory", "true").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	var summary stats.Summary
	if err := json.Unmarshal(data, &summary); err != nil {
		return nil, fmt.Errorf("read the kubelet's response: %w", err)
	}
	return &summary, nil
}

func measured(summary *stats.Summary) measurement {
	m := measurement{node: measuredSample(summary.Node.CPU, summary.Node.Memory), pods: map[types.UID]containers{}}
	for _, pod := range summary.Pods {
		samples := containers{}
		for _, container := range pod.Containers {
			if s := measuredSample(container.CPU, container.Memory); s != nil {
				samples[container.Name] = *s
			}
		}
		m.pods[types.UID(pod.PodRef.UID)] = samples
	}
	return m
}

// measuredSample returns nil if the kubelet does not know the usage: it has only one sample of a container that has just
// started, and reports no working set of one that has ended.
func measuredSample(cpu *stats.CPUStats, memory *stats.MemoryStats) *sample {
	if cpu == nil || cpu.UsageNanoCores == nil || memory == nil || memory.WorkingSetBytes == nil || *memory.WorkingSetBytes == 0 {
		return nil
	}
	return &sample{cpu.Time.Time, timing.kubeletWindow, corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewScaledQuantity(int64(*cpu.UsageNanoCores), resource.Nano),
		corev1.ResourceMemory: *resource.NewQuantity(int64(*memory.WorkingSetBytes), resource.BinarySI),
	}}
}
