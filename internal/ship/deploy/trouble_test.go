package deploy

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/internal/tools/generate/manifests"
)

// Messages of container runtimes and API servers are reported with what to do.
func TestTrouble(t *testing.T) {
	t.Parallel()
	waiting := func(reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "operator", Image: "web:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	ended := func(message string) corev1.ContainerStatus {
		status := waiting("CrashLoopBackOff", "back-off 10s")
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: message}
		return status
	}
	killed := waiting("CrashLoopBackOff", "back-off 10s")
	killed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	unpulled := func(message string) corev1.ContainerStatus { return waiting("ErrImagePull", message) }
	for name, test := range map[string]struct {
		status  corev1.ContainerStatus
		want    string
		lasting bool
	}{
		"no such image":      {waiting("ErrImagePull", "rpc error: code = NotFound desc = not found"), "pod p: the image web:1 cannot be pulled: not found; check that it is in the registry", true},
		"busy registry":      {unpulled("unexpected status from HEAD request: 503 Service Unavailable"), "cannot be pulled", true},
		"a full disk":        {unpulled("write /x: no space left on device"), "no space left on device; the disk of the node is full: free space", true},
		"no such platform":   {unpulled("no match for platform in manifest: not found"), "for another architecture than that of the node: build it with --platform", true},
		"a certificate":      {unpulled("tls: failed to verify certificate: x509: certificate signed by unknown authority"), "does not trust the registry's certificate", true},
		"no credentials":     {unpulled("unexpected status from HEAD request: 401 Unauthorized"), "add a Secret with credentials to imagePullSecrets", true},
		"too much memory":    {killed, "with exit code 137 (OOMKilled); out of memory: its limit is 256Mi; raise it with --memory", true},
		"another processor":  {ended("exec /web: exec format error"), "with exit code 128 (StartError): exec /web: exec format error; the image is for another architecture than that of the node", true},
		"no such command":    {waiting("RunContainerError", `exec: "/web": stat /web: no such file or directory`), "the image does not contain its command", true},
		"root":               {waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"), "the image must specify a numeric user other than 0", true},
		"starting":           {waiting("ContainerCreating", ""), "", false},
		"something unknown":  {waiting("Strange", "thing"), "pod p is waiting: Strange: thing", false},
		"running, not ready": {corev1.ContainerStatus{Name: "operator", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, "pod p runs, but is not ready: its probe /readyz fails", false},
		"ready":              {corev1.ContainerStatus{Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, "", false},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{test.status}}}
		pod.Spec.Containers = []corev1.Container{{Name: "operator", Resources: manifests.DefaultResources()}}
		got := troubleOf(&appsv1.Deployment{}, []corev1.Pod{pod})
		if test.status.State.Waiting != nil && test.status.State.Waiting.Reason == "ErrImagePull" && got.again != strings.HasPrefix(name, "busy") {
			t.Errorf("%s: another attempt may succeed: %t", name, got.again)
		}
		if !strings.Contains(got.text, test.want) || test.want == "" && got.text != "" || got.lasting != test.lasting {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for message, want := range map[string]string{
		`pods "p" is forbidden: exceeded quota: small`:                    "a quota of the namespace",
		`pods "p" is forbidden: violates PodSecurity "restricted:latest"`: "Pod Security of the namespace",
		`pods "p" is forbidden: somebody's webhook`:                       "the pods are rejected: pods",
	} {
		deployment := &appsv1.Deployment{}
		deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: message}}
		if got := troubleOf(deployment, nil); !strings.Contains(got.text, want) || !got.lasting {
			t.Errorf("%s: %+v", message, got)
		}
	}
}

// Trouble of containers that webhooks inject is not that of the operator. An init container that runs is no trouble.
func TestTroubleOfOtherContainers(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	killed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
	operator := corev1.ContainerStatus{Name: "operator", Ready: true, State: running}
	for want, statuses := range map[string][2]corev1.ContainerStatus{
		"": {{Name: "setup", State: running}, operator},
		"pod p runs, but its container proxy is not ready":                                                 {{Name: "proxy", State: running}, operator},
		"pod p runs, but its container mesh is not ready":                                                  {{Name: "setup", State: running}, {Name: "mesh", State: running}},
		"the container setup exits right after startup, with exit code 137 (OOMKilled)":                    {{Name: "setup", State: killed}, operator},
		"the container mesh exits right after startup: back-off 10s":                                       {{}, {Name: "mesh", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}}}},
		"pod p runs, but is not ready: its probe /readyz fails, for example while webhooks are not served": {{Name: "setup", State: running}, {Name: "operator", State: running}},
		"the operator exits right after startup: back-off 20s":                                             {{Name: "proxy", State: running}, {Name: "operator", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 20s"}}}},
	} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
		pod.Spec.InitContainers = []corev1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: &always}}
		pod.Spec.Containers = []corev1.Container{{Name: "operator"}, {Name: "mesh"}}
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = statuses[:1], statuses[1:]
		if got := troubleOf(&appsv1.Deployment{}, []corev1.Pod{pod}); got.text != want {
			t.Errorf("%q, want %q", got.text, want)
		}
	}
}

// Of init containers that run, only a sidecar has to become ready: one that is always restarted.
func TestTroubleOfInitContainers(t *testing.T) {
	t.Parallel()
	for policy, want := range map[corev1.ContainerRestartPolicy]string{
		"":                                     "", // that of the pod
		corev1.ContainerRestartPolicyNever:     "",
		corev1.ContainerRestartPolicyOnFailure: "",
		corev1.ContainerRestartPolicyAlways:    "pod p runs, but its container init is not ready",
	} {
		container := corev1.Container{Name: "init"}
		if policy != "" {
			container.RestartPolicy = &policy
		}
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{InitContainers: []corev1.Container{container}}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		if got := troubleOf(&appsv1.Deployment{}, []corev1.Pod{pod}); got.text != want {
			t.Errorf("restart policy %q: %q, want %q", policy, got.text, want)
		}
	}
}
