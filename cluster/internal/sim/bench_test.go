package sim_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/cluster/internal/sim"
)

// creators is the number of clients that create objects concurrently.
const creators = 16

// BenchmarkStart measures the time from the call until the node is ready.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		s, err := sim.Start(ctx, plane.config)
		if err != nil {
			b.Fatal(err)
		}
		cancel()
		s.Wait()
	}
}

// BenchmarkPods measures the time that the simulation adds to the creation of a thousand pods that need no scheduler: from the
// first create request until the last pod is ready.
func BenchmarkPods(b *testing.B) {
	client := simulate(b)
	const count = 1000
	for b.Loop() {
		b.StopTimer()
		namespace := newNamespace(b)
		changes, err := client.CoreV1().Pods(namespace).Watch(b.Context(), metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		createAll(b, count, func(ctx context.Context, name string) error {
			spec := podSpec()
			spec.NodeName = "node-0"
			_, err := client.CoreV1().Pods(namespace).Create(ctx,
				&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
			return err
		})
		isReady := map[string]bool{}
		for change := range changes.ResultChan() {
			if pod, ok := change.Object.(*corev1.Pod); ok && ready(pod) {
				isReady[pod.Name] = true
			}
			if len(isReady) == count {
				break
			}
		}
		changes.Stop()
	}
	b.ReportMetric(float64(count*b.N)/b.Elapsed().Seconds(), "pods/s")
}

// BenchmarkDeployments measures the complete path: a thousand Deployments with one pod each, from the first create request
// until the last one is available.
func BenchmarkDeployments(b *testing.B) {
	client := simulate(b)
	const count = 1000
	for b.Loop() {
		b.StopTimer()
		namespace := newNamespace(b)
		changes, err := client.AppsV1().Deployments(namespace).Watch(b.Context(), metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		createAll(b, count, func(ctx context.Context, name string) error {
			_, err := client.AppsV1().Deployments(namespace).Create(ctx, newDeployment(name), metav1.CreateOptions{})
			return err
		})
		isAvailable := map[string]bool{}
		for change := range changes.ResultChan() {
			if deployment, ok := change.Object.(*appsv1.Deployment); ok && deployment.Status.AvailableReplicas == 1 {
				isAvailable[deployment.Name] = true
			}
			if len(isAvailable) == count {
				break
			}
		}
		changes.Stop()
	}
	b.ReportMetric(float64(count*b.N)/b.Elapsed().Seconds(), "deployments/s")
}

func newDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
		},
	}
}

func createAll(b *testing.B, count int, create func(ctx context.Context, name string) error) {
	var group sync.WaitGroup
	for first := range creators {
		group.Go(func() {
			for i := first; i < count; i += creators {
				if err := create(b.Context(), fmt.Sprintf("web-%d", i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
}
