package sim

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// podWords are the words on which the stages of pods select and which they render, as .sim.
type podWords struct {
	Wants       podState `json:"wants"`
	Is          podState `json:"is"`
	Due         string   `json:"due,omitempty"`     // RFC 3339; when the desired state is due
	Problem     string   `json:"problem,omitempty"` // with its annotations
	Address     string   `json:"address"`
	HostAddress string   `json:"hostAddress"`
	Restarts    int32    `json:"restarts"` // after the next crash
	Backoff     string   `json:"backoff"`  // before the restart that follows that crash
}

// podState is the current or desired state of a pod.
type podState string

const (
	podNew         podState = "New"         // assigned to its node, but nothing has happened yet
	podCreating    podState = "Creating"    // delayed by StartAfterAnnotation
	podReady       podState = "Ready"       // running and ready
	podOutdated    podState = "Outdated"    // running, with an older spec
	podUnready     podState = "Unready"     // running, but its containers are not ready
	podGated       podState = "Gated"       // running, but a readiness gate is not satisfied
	podPullFailed  podState = "PullFailed"  // its image could not be pulled
	podPullBackOff podState = "PullBackOff" // and the pull is not retried
	podCrashed     podState = "Crashed"     // waiting for a restart
	podRefused     podState = "Refused"     // its annotations are invalid
	podSucceeded   podState = "Succeeded"   // ended well
	podFailed      podState = "Failed"      // ended badly
	podCutOff      podState = "CutOff"      // on a lost node
	podStopped     podState = "Stopped"     // being deleted, its containers have terminated
	podDeleted     podState = "Deleted"     // being deleted, must be removed
	podNothing     podState = ""            // must not be changed
)

// pods moves pods to their desired states.
type pods struct {
	client    typedcorev1.PodsGetter
	engine    *engine
	nodes     *nodes
	addresses *addresses
	arrivals  *arrivals
}

func (p *pods) handle(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	node := p.nodes.state(pod.Spec.NodeName)
	if node == nodeUnknown {
		return 0, nil
	}
	words, err := p.words(pod, node)
	if err != nil || words.Wants == podNothing {
		return 0, err
	}
	return p.engine.play(ctx, p.subject(pod, words))
}

func (p *pods) subject(pod *corev1.Pod, words podWords) subject {
	client := p.client.Pods(pod.Namespace)
	return subject{
		object:    pod,
		words:     words,
		reference: &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		patch: func(ctx context.Context, kind types.PatchType, data []byte, subresource string) error {
			data, err := pin(data, pod)
			if err != nil {
				return err
			}
			_, err = client.Patch(ctx, pod.Name, kind, data, metav1.PatchOptions{}, subresource)
			return err
		},
		remove: func(ctx context.Context) error {
			return client.Delete(ctx, pod.Name, metav1.DeleteOptions{
				GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &pod.UID},
			})
		},
	}
}

func (p *pods) words(pod *corev1.Pod, node nodeState) (podWords, error) {
	words := podWords{Is: stateOf(pod)}
	words.Wants, words.Problem = wants(pod, node)
	if words.Wants == podNothing {
		return words, nil
	}
	p.schedule(pod, &words)
	var err error
	words.Address, err = p.addresses.claim(addressOwner(pod))
	if words.HostAddress = nodeAddress; pod.Spec.HostNetwork {
		words.HostAddress = words.Address
	}
	return words, err
}

// addressOwner returns the owner of a pod's address: the pod, or its node if the pod is in the host network. That address is not
// the one of the Node object, which is loopback: the EndpointSlice controller fails for a Service with such an endpoint.
func addressOwner(pod *corev1.Pod) types.UID {
	if pod.Spec.HostNetwork {
		return types.UID("node/" + pod.Spec.NodeName)
	}
	return pod.UID
}

// schedule determines when the desired state of the pod is due, and delays the pod until then.
func (p *pods) schedule(pod *corev1.Pod, words *podWords) {
	if words.Wants == podCrashed {
		words.scheduleCrash(pod)
	}
	starts := words.Is == podNew || words.Is == podCreating
	if !starts || words.Wants == podRefused || words.Wants == podStopped || words.Wants == podDeleted {
		return
	}
	w, err := readWish(pod)
	if err != nil || w.after == 0 {
		return
	}
	due := p.arrivals.of(pod).Add(w.after)
	words.Due = due.Format(time.RFC3339Nano)
	if words.Is == podNew && time.Now().Before(due) {
		words.Wants, words.Due = podCreating, ""
	}
}

func (w *podWords) scheduleCrash(pod *corev1.Pod) {
	var crashed time.Time
	for _, container := range pod.Status.ContainerStatuses {
		w.Restarts = max(w.Restarts, container.RestartCount)
		if last := container.LastTerminationState.Terminated; last != nil && last.FinishedAt.After(crashed) {
			crashed = last.FinishedAt.Time
		}
	}
	if w.Is == podCrashed {
		w.Due = crashed.Add(crashBackoff(w.Restarts)).Format(time.RFC3339Nano)
	}
	w.Restarts++
	w.Backoff = crashBackoff(w.Restarts).String()
}

// crashBackoff returns the delay before the next restart of a container with this number of restarts.
func crashBackoff(restarts int32) time.Duration {
	backoff := timing.crashBackoffMin
	for range restarts - 1 {
		backoff = min(2*backoff, timing.crashBackoffMax)
	}
	return backoff
}

// wants returns the desired state of a pod on a node in the given state, and the problem with its annotations.
func wants(pod *corev1.Pod, node nodeState) (podState, string) {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	lost := node == nodeLost || pod.Annotations[FailAnnotation] == FailLost
	switch {
	case lost && (ended || pod.DeletionTimestamp != nil):
		return podNothing, "" // a lost node cannot do anything about it
	case lost:
		return podCutOff, ""
	case pod.DeletionTimestamp != nil:
		return wantsDeleted(pod, ended), ""
	case ended:
		return podNothing, ""
	}
	w, err := readWish(pod)
	if err != nil {
		return podRefused, err.Error()
	}
	return w.wants(pod), ""
}

// wantsDeleted returns the desired state of a pod that is being deleted. A pod with finalizers shows that its containers have
// terminated before its node stops managing it: the Job controller, for example, waits for this.
func wantsDeleted(pod *corev1.Pod, ended bool) podState {
	switch {
	case pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0:
		return podNothing
	case len(pod.Finalizers) > 0 && !ended:
		return podStopped
	}
	return podDeleted
}

func (w wish) wants(pod *corev1.Pod) podState {
	switch {
	case w.fail == FailImagePull:
		return podPullFailed
	case w.fail == FailCrashLoop && pod.Spec.RestartPolicy != corev1.RestartPolicyNever:
		return podCrashed
	case w.fail == FailCrashLoop, w.fail == FailJob:
		return podFailed
	case w.fail == FailNeverReady:
		return podUnready
	case ofJob(pod), w.succeeds:
		return podSucceeded
	case !gatesOpen(pod):
		return podGated
	}
	return podReady
}

func restarts(pod *corev1.Pod) bool {
	return pod.Spec.RestartPolicy == corev1.RestartPolicyAlways
}

func ofJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job" && owner.APIVersion == batchv1.SchemeGroupVersion.String()
}

func gatesOpen(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		if condition := podCondition(pod, gate.ConditionType); condition.Status != corev1.ConditionTrue {
			return false
		}
	}
	return true
}

// podCondition returns the condition of the given type, or an empty one.
func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return corev1.PodCondition{}
}

// seen records when the pod was assigned to its node, and the address that it already has.
func (p *pods) seen(pod *corev1.Pod) {
	p.arrivals.note(pod)
	p.addresses.reserve(addressOwner(pod), pod.Status.PodIP)
}

// gone releases the address of the pod. A node keeps its address: other pods may have it, too.
func (p *pods) gone(pod *corev1.Pod) {
	p.addresses.release(pod.UID)
	p.arrivals.forget(pod.UID)
}

func (p *pods) only(list []*corev1.Pod) {
	uids := sets.New[types.UID]()
	for _, pod := range list {
		uids.Insert(pod.UID, addressOwner(pod))
	}
	p.addresses.retain(uids)
	p.arrivals.retain(uids)
	for _, pod := range list {
		p.seen(pod)
	}
}
