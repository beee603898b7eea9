package metrics

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// told returns the usage of a container as reported by a kubelet.
func told(name string, nanoCores, workingSet *uint64) stats.ContainerStats {
	return stats.ContainerStats{
		Name:   name,
		CPU:    &stats.CPUStats{Time: metav1.Unix(1000, 0), UsageNanoCores: nanoCores},
		Memory: &stats.MemoryStats{WorkingSetBytes: workingSet},
	}
}

// runs returns a pod whose containers with these names are running.
func runs(names ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "1"}}
	for _, name := range names {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return pod
}

// Usage that a kubelet does not know yet, or does not know any more, is omitted and not zero.
func TestUnknownIsLeftOut(t *testing.T) {
	t.Parallel()
	some, none := new(uint64(2_000_000)), new(uint64(0))
	for name, test := range map[string]struct {
		running    []string
		containers []stats.ContainerStats
		left       bool
	}{
		"all known":           {[]string{"a", "b"}, []stats.ContainerStats{told("a", some, some), told("b", none, some)}, false},
		"one ended":           {[]string{"a"}, []stats.ContainerStats{told("a", some, some), told("b", none, none)}, false},
		"one sample only":     {[]string{"a"}, []stats.ContainerStats{told("a", nil, some)}, true},
		"no working set":      {[]string{"a"}, []stats.ContainerStats{told("a", some, nil)}, true},
		"an empty one":        {[]string{"a"}, []stats.ContainerStats{told("a", none, none)}, true},
		"nothing at all":      {[]string{"a"}, []stats.ContainerStats{{Name: "a"}}, true},
		"a part of the pod":   {[]string{"a", "b"}, []stats.ContainerStats{told("a", some, some)}, true},
		"nothing of it runs":  {nil, []stats.ContainerStats{told("a", some, some)}, true},
		"the kubelet is mute": {[]string{"a"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := runs(test.running...)
			summary := &stats.Summary{Pods: []stats.PodStats{{PodRef: stats.PodReference{UID: "1"}, Containers: test.containers}}}
			figures := podMetrics(pod, measured(summary).pods[pod.UID])
			if (figures == nil) != test.left {
				t.Fatalf("got %+v", figures)
			}
			if figures != nil && len(figures.Containers) != len(test.running) {
				t.Errorf("containers are %+v: want %q", figures.Containers, test.running)
			}
		})
	}
}

// The usage of a pod includes its running containers and sidecars, has the time of the oldest sample, and covers the time
// between two samples.
func TestFiguresOfAPod(t *testing.T) {
	t.Parallel()
	pod := runs("app", "log")
	pod.Namespace, pod.Labels = "team", map[string]string{"app": "web"}
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, ended("done"))
	pod.Status.InitContainerStatuses = append(runs("sidecar").Status.ContainerStatuses, ended("init"))
	samples := containers{}
	for age, name := range []string{"sidecar", "app", "log", "done", "init"} {
		samples[name] = sample{time.Unix(1000-int64(age), 0), timing.kubeletWindow, corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(age), resource.DecimalSI)}}
	}
	got := podMetrics(pod, samples)
	if got == nil || got.Namespace != "team" || got.Labels["app"] != "web" || got.Window.Duration != timing.kubeletWindow || !got.Timestamp.Equal(&metav1.Time{Time: time.Unix(998, 0)}) {
		t.Fatalf("got %+v", got)
	}
	var of []string
	for _, container := range got.Containers {
		of = append(of, container.Name+" "+container.Usage.Cpu().String())
	}
	if want := []string{"sidecar 0", "app 1", "log 2"}; !slices.Equal(of, want) {
		t.Errorf("containers are %q: want %q", of, want)
	}
}

// ended returns the status of a container that has terminated.
func ended(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
}

func TestFiguresAreTheKubelets(t *testing.T) {
	t.Parallel()
	summary := &stats.Summary{Node: stats.NodeStats{
		CPU:    &stats.CPUStats{Time: metav1.Unix(1000, 0), UsageNanoCores: new(uint64(1_500_000_000))},
		Memory: &stats.MemoryStats{WorkingSetBytes: new(uint64(64 << 20))},
	}}
	got := measured(summary).node
	if got == nil || got.usage.Cpu().String() != "1500m" || got.usage.Memory().String() != "64Mi" || !got.at.Equal(time.Unix(1000, 0)) || got.window != timing.kubeletWindow {
		t.Errorf("got %+v", got)
	}
}
