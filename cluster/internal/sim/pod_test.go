package sim_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/operon-framework/operon/cluster/internal/sim"
)

// podSpec returns the spec of a pod with one container.
func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}}}
}

func createPod(t testing.TB, namespace string, annotations map[string]string, spec corev1.PodSpec) *corev1.Pod {
	t.Helper()
	pod, err := plane.client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: annotations},
		Spec:       spec,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func awaitPod(t testing.TB, namespace, what string, want func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	return await(t, what+" pod", getPod(namespace), want)
}

func getPod(namespace string) func(context.Context) (*corev1.Pod, error) {
	return func(ctx context.Context) (*corev1.Pod, error) {
		return plane.client.CoreV1().Pods(namespace).Get(ctx, "web", metav1.GetOptions{})
	}
}

func patchPod(t testing.TB, namespace, patch string, subresources ...string) {
	t.Helper()
	_, err := plane.client.CoreV1().Pods(namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		t.Fatal(err)
	}
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return pod.Status.Conditions[i]
}

func ready(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && condition(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

func notReady(pod *corev1.Pod) bool {
	return condition(pod, corev1.PodReady).Status == corev1.ConditionFalse
}

// waitsFor returns a condition: every container of the pod waits for the given reason.
func waitsFor(reason string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		statuses := pod.Status.ContainerStatuses
		return len(statuses) == len(pod.Spec.Containers) && !slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool {
			return s.Ready || s.State.Waiting == nil || s.State.Waiting.Reason != reason
		})
	}
}

func TestPodRunsAndIsReady(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	spec := podSpec()
	spec.Containers = append(spec.Containers, corev1.Container{Name: "proxy", Image: "example.com/proxy:1"})
	spec.InitContainers = []corev1.Container{
		{Name: "prepare", Image: "example.com/prepare:1"},
		{Name: "sidecar", Image: "example.com/sidecar:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
	}
	createPod(t, namespace, nil, spec)
	status := awaitPod(t, namespace, "ready", ready).Status

	if !netip.MustParsePrefix("198.18.0.0/16").Contains(netip.MustParseAddr(status.PodIP)) || status.PodIPs[0].IP != status.PodIP {
		t.Errorf("addresses %q, %v: want one of 198.18.0.0/16", status.PodIP, status.PodIPs)
	}
	if status.HostIP != "127.0.0.1" || status.StartTime == nil {
		t.Errorf("hostIP %q, startTime %v", status.HostIP, status.StartTime)
	}
	for _, container := range status.ContainerStatuses {
		if !container.Ready || !*container.Started || container.State.Running == nil || container.RestartCount != 0 {
			t.Errorf("container is not running and ready: %s", asYAML(container))
		}
	}
	if len(status.ContainerStatuses) != 2 || status.ContainerStatuses[1].Image != "example.com/proxy:1" {
		t.Errorf("statuses of containers: %s", asYAML(status.ContainerStatuses))
	}
	prepare, sidecar := status.InitContainerStatuses[0], status.InitContainerStatuses[1]
	if prepare.State.Terminated == nil || prepare.State.Terminated.ExitCode != 0 {
		t.Errorf("init container has not ended well: %s", asYAML(prepare))
	}
	if sidecar.State.Running == nil || !sidecar.Ready {
		t.Errorf("restartable init container does not run: %s", asYAML(sidecar))
	}
}

func TestPodsHaveAddressesOfTheirOwn(t *testing.T) {
	t.Parallel()
	simulate(t)
	first, second := newNamespace(t), newNamespace(t)
	createPod(t, first, nil, podSpec())
	createPod(t, second, nil, podSpec())
	one, two := awaitPod(t, first, "ready", ready), awaitPod(t, second, "ready", ready)
	if one.Status.PodIP == two.Status.PodIP {
		t.Errorf("both pods have address %s", one.Status.PodIP)
	}
}

func TestPodOfHostNetworkHasTheAddressOfItsNode(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	other := newNamespace(t)
	spec := podSpec()
	spec.HostNetwork = true
	createPod(t, namespace, nil, spec)
	createPod(t, other, nil, spec)
	status := awaitPod(t, namespace, "ready", ready).Status
	if !netip.MustParsePrefix("198.18.0.0/16").Contains(netip.MustParseAddr(status.PodIP)) || status.HostIP != status.PodIP || len(status.PodIPs) != 1 {
		t.Errorf("podIP %s, podIPs %v, hostIP %s: want the same one of 198.18.0.0/16", status.PodIP, status.PodIPs, status.HostIP)
	}
	if same := awaitPod(t, other, "ready", ready).Status.PodIP; same != status.PodIP {
		t.Errorf("pods of one node have %s and %s", status.PodIP, same)
	}
	// Earlier versions gave these pods a loopback address.
	patchPod(t, namespace, `{"status":{"podIP":"127.0.0.1","podIPs":[{"ip":"127.0.0.1"}],"hostIP":"127.0.0.1","hostIPs":[{"ip":"127.0.0.1"}]}}`, "status")
	awaitPod(t, namespace, "corrected", func(pod *corev1.Pod) bool {
		return pod.Status.PodIP == status.PodIP && len(pod.Status.PodIPs) == 1 && pod.Status.HostIP == status.PodIP
	})
}

// The EndpointSlice controller rejects loopback addresses, together with all other endpoints of the Service.
func TestPodOfHostNetworkIsAnEndpoint(t *testing.T) {
	t.Parallel()
	client := simulate(t)
	namespace := newNamespace(t)
	_, err := client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec := podSpec()
	spec.HostNetwork = true
	createPod(t, namespace, nil, spec)
	patchPod(t, namespace, `{"metadata":{"labels":{"app":"web"}}}`)
	pod := awaitPod(t, namespace, "ready", ready)
	await(t, "endpoint", func(ctx context.Context) (*discoveryv1.EndpointSliceList, error) {
		return client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{})
	}, func(list *discoveryv1.EndpointSliceList) bool {
		return slices.ContainsFunc(list.Items, func(slice discoveryv1.EndpointSlice) bool {
			return len(slice.Endpoints) == 1 && slices.Equal(slice.Endpoints[0].Addresses, []string{pod.Status.PodIP})
		})
	})
}

// Each failure is visible, and ends when its annotation is removed.
func TestFailuresByAnnotation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		annotation, value string
		event             string // a part of its message
		reason            string // of the event
		shows             func(*corev1.Pod) bool
	}{{
		annotation: sim.FailAnnotation, value: sim.FailImagePull,
		reason: "Failed", event: "Failed to pull image \"example.com/app:1\"",
		shows: waitsFor("ImagePullBackOff"),
	}, {
		annotation: sim.FailAnnotation, value: sim.FailCrashLoop,
		reason: "BackOff", event: "Back-off restarting failed container app in pod web",
		shows: func(pod *corev1.Pod) bool {
			return waitsFor("CrashLoopBackOff")(pod) && pod.Status.ContainerStatuses[0].RestartCount >= 1 &&
				pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode == 1
		},
	}, {
		annotation: sim.FailAnnotation, value: sim.FailNeverReady,
		reason: "Unhealthy", event: "Readiness probe failed",
		shows: func(pod *corev1.Pod) bool {
			return pod.Status.Phase == corev1.PodRunning && notReady(pod) && pod.Status.ContainerStatuses[0].State.Running != nil
		},
	}, {
		annotation: sim.FailAnnotation, value: "imagepull",
		reason: "InvalidAnnotation", event: `"imagepull" is not known; use one of image-pull, crash-loop, never-ready, job, lost`,
		shows: waitsFor("InvalidAnnotation"),
	}, {
		annotation: sim.FailAnnotation, value: sim.FailJob,
		reason: "InvalidAnnotation", event: "this one has restartPolicy Always; use crash-loop instead",
		shows: waitsFor("InvalidAnnotation"),
	}, {
		annotation: sim.StartAfterAnnotation, value: "soon",
		reason: "InvalidAnnotation", event: `"soon" is not a duration; use one such as 5s`,
		shows: waitsFor("InvalidAnnotation"),
	}, {
		annotation: sim.SucceedAnnotation, value: "yes",
		reason: "InvalidAnnotation", event: `"yes" is not possible; use "true", on a pod that terminates`,
		shows: waitsFor("InvalidAnnotation"),
	}, {
		annotation: sim.SucceedAnnotation, value: "true",
		reason: "InvalidAnnotation", event: "its restartPolicy is not Always",
		shows: waitsFor("InvalidAnnotation"),
	}, {
		annotation: sim.UsageCPUAnnotation, value: "lots",
		reason: "InvalidAnnotation", event: `"lots" is not an amount; use one such as 250m`,
		shows: waitsFor("InvalidAnnotation"),
	}, {
		annotation: sim.StartAfterAnnotation, value: "1h",
		reason: "Scheduled", event: "Successfully assigned",
		shows: waitsFor("ContainerCreating"),
	}} {
		t.Run(test.value, func(t *testing.T) {
			t.Parallel()
			simulate(t)
			namespace := newNamespace(t)
			createPod(t, namespace, map[string]string{test.annotation: test.value}, podSpec())
			pod := awaitPod(t, namespace, "failing", test.shows)
			if !notReady(pod) {
				t.Errorf("Ready is %+v: want False", condition(pod, corev1.PodReady))
			}
			if message := awaitEvent(t, namespace, "web", test.reason); !strings.Contains(message, test.event) {
				t.Errorf("event says %q: want %q in it", message, test.event)
			}
			patchPod(t, namespace, `{"metadata":{"annotations":null}}`)
			awaitPod(t, namespace, "ready", ready)
		})
	}
}

func TestFailureBeginsOnARunningPod(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createPod(t, namespace, nil, podSpec())
	before := awaitPod(t, namespace, "ready", ready)
	patchPod(t, namespace, `{"metadata":{"annotations":{"sim.operon.dev/fail":"never-ready"}}}`)
	after := awaitPod(t, namespace, "unready", notReady)
	if after.Status.PodIP != before.Status.PodIP || !after.Status.StartTime.Equal(before.Status.StartTime) {
		t.Errorf("the pod did not stay the same: %s, %s", asYAML(before.Status), asYAML(after.Status))
	}
}

func TestCrashingPodRestartsWhenItsBackoffIsOver(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createPod(t, namespace, map[string]string{sim.FailAnnotation: sim.FailCrashLoop}, podSpec())
	wantBackoff(t, awaitPod(t, namespace, "crashing", waitsFor("CrashLoopBackOff")))
	// The back-off is too long for a test, so the status records an earlier time of the crash.
	before := changeStatus(t, namespace, func(status *corev1.PodStatus) {
		status.ContainerStatuses[0].LastTerminationState.Terminated.FinishedAt = metav1.NewTime(time.Now().Add(-time.Hour))
	})
	wantBackoff(t, before)
	wantBackoff(t, awaitPod(t, namespace, "restarted", func(pod *corev1.Pod) bool {
		return pod.Status.ContainerStatuses[0].RestartCount > before.Status.ContainerStatuses[0].RestartCount
	}))
}

// wantBackoff checks the back-off that a crashing pod shows. It doubles with each restart, up to five minutes.
func wantBackoff(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	container := pod.Status.ContainerStatuses[0]
	backoff := 10 * time.Second
	for range container.RestartCount - 1 {
		backoff = min(2*backoff, 5*time.Minute)
	}
	if want := fmt.Sprintf("back-off %s ", backoff); !strings.HasPrefix(container.State.Waiting.Message, want) {
		t.Errorf("message %q after %d restarts: want %q", container.State.Waiting.Message, container.RestartCount, want)
	}
}

// changeStatus changes the status of the pod, which the simulation may write at the same time.
func changeStatus(t *testing.T, namespace string, change func(*corev1.PodStatus)) (changed *corev1.Pod) {
	t.Helper()
	pods := plane.client.CoreV1().Pods(namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pod, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&pod.Status)
		changed, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestStartAfterHoldsAPodBack(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	began := time.Now()
	createPod(t, namespace, map[string]string{sim.StartAfterAnnotation: "1500ms"}, podSpec())
	awaitPod(t, namespace, "ready", ready) // the test with a delay of an hour checks the state until then
	if took := time.Since(began); took < 1500*time.Millisecond {
		t.Errorf("the pod was ready after %v: want 1.5s at least", took)
	}
}

func TestReadinessGateHoldsAPodUnready(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	spec := podSpec()
	spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/attached"}}
	createPod(t, namespace, nil, spec)
	pod := awaitPod(t, namespace, "running", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning })
	if got := condition(pod, corev1.PodReady); got.Status != corev1.ConditionFalse || got.Reason != "ReadinessGatesNotReady" {
		t.Errorf("Ready is %+v: want False because of the gate", got)
	}
	changeStatus(t, namespace, func(status *corev1.PodStatus) {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: "example.com/attached", Status: corev1.ConditionTrue})
	})
	awaitPod(t, namespace, "ready", ready)
}

func TestNewImageRestartsItsContainer(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createPod(t, namespace, nil, podSpec())
	awaitPod(t, namespace, "ready", ready)
	_, err := plane.client.CoreV1().Pods(namespace).Patch(t.Context(), "web", types.StrategicMergePatchType,
		[]byte(`{"spec":{"containers":[{"name":"app","image":"example.com/app:2"}]}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	awaitPod(t, namespace, "updated", func(pod *corev1.Pod) bool {
		container := pod.Status.ContainerStatuses[0]
		return ready(pod) && container.Image == "example.com/app:2" && container.RestartCount == 1
	})
}

func TestDeletedPodGoesAtOnce(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	spec := podSpec()
	spec.TerminationGracePeriodSeconds = new(int64(3600))
	createPod(t, namespace, nil, spec)
	awaitPod(t, namespace, "ready", ready)
	if err := plane.client.CoreV1().Pods(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, "pod", getPod(namespace))
}

func TestDeletedPodWaitsForItsFinalizers(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createPod(t, namespace, nil, podSpec())
	awaitPod(t, namespace, "ready", ready)
	patchPod(t, namespace, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	if err := plane.client.CoreV1().Pods(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPod(t, namespace, "stopped", func(pod *corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodFailed && *pod.DeletionGracePeriodSeconds == 0
	})
	patchPod(t, namespace, `{"metadata":{"finalizers":null}}`)
	awaitGone(t, "pod", getPod(namespace))
}

func createJob(t *testing.T, namespace string, annotations map[string]string) {
	t.Helper()
	spec := podSpec()
	spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := plane.client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "work"},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)),
			Template:     corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: spec},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func awaitJob(t *testing.T, namespace string, kind batchv1.JobConditionType) {
	t.Helper()
	await(t, string(kind)+" Job", func(ctx context.Context) (*batchv1.Job, error) {
		return plane.client.BatchV1().Jobs(namespace).Get(ctx, "work", metav1.GetOptions{})
	}, func(job *batchv1.Job) bool {
		return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == kind && c.Status == corev1.ConditionTrue
		})
	})
}

func TestJobSucceeds(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createJob(t, namespace, nil)
	awaitJob(t, namespace, batchv1.JobComplete)
}

func TestJobFails(t *testing.T) {
	t.Parallel()
	for _, fail := range []string{sim.FailJob, sim.FailCrashLoop} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			simulate(t)
			namespace := newNamespace(t)
			createJob(t, namespace, map[string]string{sim.FailAnnotation: fail})
			awaitJob(t, namespace, batchv1.JobFailed)
			pods, err := plane.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil || len(pods.Items) != 1 {
				t.Fatalf("%d pods, error %v: want 1", len(pods.Items), err)
			}
			end := pods.Items[0].Status.ContainerStatuses[0].State.Terminated
			if pods.Items[0].Status.Phase != corev1.PodFailed || end == nil || end.ExitCode != 1 {
				t.Errorf("status of the pod: %s", asYAML(pods.Items[0].Status))
			}
		})
	}
}

// A pod that an operator creates itself, for a backup for example, ends well if it is annotated, and runs otherwise.
func TestPodSucceeds(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	spec := podSpec()
	spec.RestartPolicy = corev1.RestartPolicyNever
	createPod(t, namespace, nil, spec)
	awaitPod(t, namespace, "ready", ready)
	patchPod(t, namespace, `{"metadata":{"annotations":{"sim.operon.dev/succeed":"true"}}}`)
	awaitPod(t, namespace, "ended", func(pod *corev1.Pod) bool {
		end := pod.Status.ContainerStatuses[0].State.Terminated
		return pod.Status.Phase == corev1.PodSucceeded && end != nil && end.ExitCode == 0
	})
}

func TestDeploymentReplacesADeletedPod(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	deployment := newDeployment("web")
	deployment.Spec.Replicas = new(int32(3))
	if _, err := plane.client.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	listPods := func(ctx context.Context) (*corev1.PodList, error) {
		return plane.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	}
	threeReady := func(list *corev1.PodList) bool {
		return len(list.Items) == 3 && !slices.ContainsFunc(list.Items, func(pod corev1.Pod) bool { return !ready(&pod) })
	}
	pods := await(t, "three ready pods", listPods, threeReady)
	victim := pods.Items[0].Name
	if err := plane.client.CoreV1().Pods(namespace).Delete(t.Context(), victim, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "three ready pods, one of them new", listPods, func(list *corev1.PodList) bool {
		return threeReady(list) && !slices.ContainsFunc(list.Items, func(pod corev1.Pod) bool { return pod.Name == victim })
	})
}
