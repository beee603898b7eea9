package deploy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operon-framework/operon/internal/tools/up/process"
)

// shownTail is the number of lines shown from the end of a log.
const shownTail = 20

// trouble is the reason why pods are not ready.
type trouble struct {
	// reason distinguishes kinds of trouble, and text describes it.
	reason, text string
	// lasting reports that the trouble does not end automatically.
	lasting bool
	// again reports that Kubernetes tries again after a while, and may succeed: the trouble has to last longer to be final.
	again bool
	// usual reports that every pod has this trouble shortly after its start, so that it is reported only if it lasts.
	usual bool
	// pod and container have a log with more information; previous selects the log of the previous container.
	pod       string
	container string
	previous  bool
}

// tell describes the trouble, with the end of the log if that is useful.
func (t trouble) tell(ctx context.Context, r *rollout) string {
	if t.pod == "" {
		return t.text
	}
	lines, err := r.tail(ctx, t)
	if err != nil {
		return fmt.Sprintf("%s; its log cannot be read: %v", t.text, err)
	}
	if len(lines) == 0 {
		return t.text + "; its log is empty"
	}
	end := strings.Join(process.Crash(lines, shownTail), "\n  ")
	return t.text + adviceOfLog(t.text, end) + "; its log ends with\n  " + end
}

// gone lists the beginnings of messages that kubelets return instead of the log of a container that was removed in the
// meantime, in the kubelet and cri-client of Kubernetes 1.37.
var gone = []string{"unable to retrieve container logs", "failed to try resolving symlinks", "failed to open log file"}

// tail returns the end of the log of a container in trouble. The kubelet keeps the log of the container that ended last: if
// the container has ended again since it was checked, this is no longer the log of the previous container.
func (r *rollout) tail(ctx context.Context, t trouble) ([]string, error) {
	tick := time.NewTicker(timing.lookInterval)
	defer tick.Stop()
	until := time.Now().Add(timing.grace)
	for previous := t.previous; ; previous = !previous {
		lines, err := r.cluster.tail(ctx, r.namespace, t.pod, t.container, previous)
		removed := len(lines) == 1 && slices.ContainsFunc(gone, func(word string) bool { return strings.HasPrefix(lines[0], word) })
		begins := len(lines) == 0 && previous != t.previous
		if err != nil || !removed && !begins {
			return lines, err
		}
		if removed {
			lines, err = nil, errors.New(lines[0])
		}
		if time.Now().After(until) {
			return lines, err
		}
		select {
		case <-ctx.Done():
			return lines, err
		case <-tick.C:
		}
	}
}

// tail returns the last lines of a container's log.
func (c *cluster) tail(ctx context.Context, namespace, pod, container string, previous bool) ([]string, error) {
	lines := int64(200)
	log, err := c.typed.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container, Previous: previous, TailLines: &lines}).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(log), func(r rune) bool { return r == '\n' }), nil
}

// troubleOf finds the reason why a Deployment's pods are not ready: first pods that cannot be created, then the status of a
// pod.
func troubleOf(deployment *appsv1.Deployment, pods []corev1.Pod) trouble {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return notMade(condition.Message)
		}
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if found := troubleIn(pod); found.text != "" {
			return found
		}
	}
	return trouble{}
}

// notMade describes why the API server rejects pods.
func notMade(message string) trouble {
	switch {
	case strings.Contains(message, "exceeded quota"):
		return trouble{reason: "quota", text: "a quota of the namespace rejects the pods: " + message, lasting: true}
	case strings.Contains(message, "violates PodSecurity"):
		return trouble{reason: "security", text: "Pod Security of the namespace rejects the pods: " + message, lasting: true}
	}
	return trouble{reason: "refused", text: "the pods are rejected: " + message, lasting: true, again: strings.Contains(message, "failed calling webhook")}
}

// troubleIn returns the trouble of a pod.
func troubleIn(pod corev1.Pod) trouble {
	var usual trouble // of the first container that will probably become ready
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		ends := func(one corev1.Container) bool {
			return one.Name == container.Name && (one.RestartPolicy == nil || *one.RestartPolicy != corev1.ContainerRestartPolicyAlways)
		}
		if container.State.Running != nil && slices.ContainsFunc(pod.Spec.InitContainers, ends) {
			continue // it never becomes ready
		}
		if found := troubleOfContainer(pod, container); found.text != "" && !found.usual {
			return found
		} else if usual.text == "" {
			usual = found
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return trouble{reason: "unscheduled", text: fmt.Sprintf("pod %s cannot be scheduled: %s", pod.Name, condition.Message)}
		}
	}
	return usual
}

func troubleOfContainer(pod corev1.Pod, container corev1.ContainerStatus) trouble {
	waiting := container.State.Waiting
	if waiting == nil {
		return troubleOfRunning(pod, container)
	}
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError":
		return trouble{reason: "image", lasting: true, again: !refusesPull(waiting), text: fmt.Sprintf("pod %s: the image %s cannot be pulled%s; %s", pod.Name, container.Image, said(waiting.Message), adviceOfPull(waiting.Message))}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return trouble{reason: waiting.Reason, lasting: true, text: fmt.Sprintf("pod %s cannot be started%s%s", pod.Name, said(waiting.Message), advice(waiting.Message))}
	case "CrashLoopBackOff":
		return crash(pod, container, waiting.Message)
	case "", "ContainerCreating", "PodInitializing":
		return trouble{}
	}
	return trouble{reason: waiting.Reason, text: fmt.Sprintf("pod %s is waiting: %s%s", pod.Name, waiting.Reason, said(waiting.Message))}
}

// operatorContainer is the name of the operator's container. Webhooks of the cluster may inject others.
const operatorContainer = "operator"

// subject names a container in messages.
func subject(container string) string {
	if container == operatorContainer {
		return "the operator"
	}
	return "the container " + container
}

// crash returns the trouble of a container that ends repeatedly.
func crash(pod corev1.Pod, container corev1.ContainerStatus, message string) trouble {
	found := trouble{reason: "crash", lasting: true, pod: pod.Name, container: container.Name, previous: true}
	if ended := container.LastTerminationState.Terminated; ended != nil {
		found.text = endOf(pod, container.Name, ended)
		return found
	}
	found.text = subject(container.Name) + " exits right after startup" + said(message) + advice(message)
	return found
}

// endOf describes how a container ended.
func endOf(pod corev1.Pod, container string, ended *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("%s exits right after startup, with exit code %d (%s)%s%s", subject(container), ended.ExitCode, ended.Reason, said(ended.Message), advice(ended.Message))
	if ended.Reason != outOfMemory || container != operatorContainer {
		return text
	}
	for _, one := range pod.Spec.Containers {
		if one.Name == container && !one.Resources.Limits.Memory().IsZero() {
			return text + fmt.Sprintf("; out of memory: its limit is %s; raise it with --memory", one.Resources.Limits.Memory())
		}
	}
	return text + "; the node is out of memory"
}

// outOfMemory is the reason of a container that exceeded its memory limit.
const outOfMemory = "OOMKilled"

// troubleOfRunning returns the trouble of a container that runs and is not ready, or has just ended.
func troubleOfRunning(pod corev1.Pod, container corev1.ContainerStatus) trouble {
	switch {
	case container.State.Terminated != nil && container.State.Terminated.ExitCode != 0:
		ended := container.State.Terminated
		return trouble{
			reason: "crash", pod: pod.Name, container: container.Name,
			text: endOf(pod, container.Name, ended),
		}
	case container.State.Running != nil && !container.Ready && container.Name != operatorContainer:
		return trouble{reason: "unready", usual: true, pod: pod.Name, container: container.Name, text: fmt.Sprintf("pod %s runs, but its container %s is not ready", pod.Name, container.Name)}
	case container.State.Running != nil && !container.Ready:
		return trouble{reason: "unready", usual: true, pod: pod.Name, container: container.Name, text: fmt.Sprintf("pod %s runs, but is not ready: its probe /readyz fails, for example while webhooks are not served", pod.Name)}
	}
	return trouble{}
}

// refusesPull reports whether another attempt to pull an image would fail as well. Registries that are busy or being restarted answer again later.
func refusesPull(waiting *corev1.ContainerStateWaiting) bool {
	if waiting.Reason == "ErrImageNeverPull" || waiting.Reason == "InvalidImageName" {
		return true
	}
	return slices.ContainsFunc(finalAnswers, func(text string) bool { return strings.Contains(waiting.Message, text) })
}

// finalAnswers are parts of messages about images that another attempt does not pull either.
var finalAnswers = []string{
	"not found", "NotFound", "401 Unauthorized", "403 Forbidden", "authorization failed", "no match for platform", "x509:", "no space left on device",
	"invalid reference format",
}

// adviceOfPull describes what to do about an image that cannot be pulled.
func adviceOfPull(message string) string {
	switch {
	case strings.Contains(message, "no space left on device"):
		return "the disk of the node is full: free space, for example by removing images"
	case strings.Contains(message, "no match for platform"):
		return "the image is for another architecture than that of the node: build it with --platform"
	case strings.Contains(message, "x509:"):
		return "the node does not trust the registry's certificate: add its CA to those of the nodes"
	case strings.Contains(message, "401 Unauthorized"), strings.Contains(message, "403 Forbidden"), strings.Contains(message, "authorization failed"):
		return "the registry rejects the credentials, or requires some: add a Secret with credentials to imagePullSecrets of the operator's ServiceAccount"
	}
	return "check that it is in the registry and that the nodes may pull it, or load it into a local cluster with `operon image load`"
}

// advice explains errors of container runtimes about an unsuitable image.
func advice(message string) string {
	switch {
	case strings.Contains(message, "exec format error"):
		return "; the image is for another architecture than that of the node"
	case strings.Contains(message, "no command specified"):
		return "; the image specifies no command"
	case strings.Contains(message, "executable file not found"), strings.Contains(message, "no such file or directory"):
		return "; the image does not contain its command"
	case strings.Contains(message, "non-numeric user"), strings.Contains(message, "will run as root"):
		return "; the image must specify a numeric user other than 0"
	}
	return ""
}

// adviceOfLog returns the advice for an error that the runtime, rather than the program, wrote to the container's log.
func adviceOfLog(text, end string) string {
	found := advice(end)
	if !strings.Contains(end, "exec format error") || strings.Contains(text, found) {
		return ""
	}
	return found
}

// wire matches the prefix of a runtime's message that describes how it was sent to the kubelet.
var wire = regexp.MustCompile(`^rpc error: code = \w+ desc = `)

func said(message string) string {
	if message == "" {
		return ""
	}
	return ": " + strings.TrimSpace(wire.ReplaceAllString(message, ""))
}
