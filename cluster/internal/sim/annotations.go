package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Labels and annotations that users set on objects.
const (
	// NodeLabel marks simulated nodes, with the value "true". Pods on other nodes are ignored.
	NodeLabel = "sim.operon.dev/node"

	// FailAnnotation requests a failure. The values for a pod are FailImagePull, FailCrashLoop, FailNeverReady, FailJob and
	// FailLost. The value for a node is FailLost. The value for a claim, or for a namespace to apply it to all its claims, is
	// FailUnbound.
	FailAnnotation = "sim.operon.dev/fail"

	// StartAfterAnnotation delays a pod: its containers start this time after the pod was assigned to its node. The value is a
	// duration such as 5s or 1m30s.
	StartAfterAnnotation = "sim.operon.dev/start-after"

	// SucceedAnnotation makes a pod that is not of a Job end with exit code 0, with the value "true". Pods of Jobs do so without it.
	SucceedAnnotation = "sim.operon.dev/succeed"

	// UsageCPUAnnotation and UsageMemoryAnnotation set the usage of each container of a pod, such as 250m and 64Mi, or of certain
	// containers, such as web=250m,log=10m. See Usage.
	UsageCPUAnnotation    = "sim.operon.dev/usage-cpu"
	UsageMemoryAnnotation = "sim.operon.dev/usage-memory"
)

// Values of FailAnnotation.
const (
	FailImagePull  = "image-pull"  // the image cannot be pulled
	FailCrashLoop  = "crash-loop"  // the containers exit with code 1 repeatedly
	FailNeverReady = "never-ready" // the containers run but are not ready
	FailJob        = "job"         // the pod fails with exit code 1
	FailLost       = "lost"        // the node, or the node of the pod, is lost, as after a power failure
	FailUnbound    = "unbound"     // the claim gets no volume
)

// failures are the values of FailAnnotation on a pod.
var failures = []string{FailImagePull, FailCrashLoop, FailNeverReady, FailJob, FailLost}

// wish is the behavior that the annotations of a pod request.
type wish struct {
	fail     string        // one of failures, or empty
	after    time.Duration // of the start
	succeeds bool
}

// readWish reads a pod's annotations. An error describes the problem and the valid values. It is shown to the user in the pod's status.
func readWish(pod *corev1.Pod) (wish, error) {
	var w wish
	if fail, ok := pod.Annotations[FailAnnotation]; ok {
		if !slices.Contains(failures, fail) {
			return w, fmt.Errorf("annotation %s: %q is not known; use one of %s, or remove the annotation",
				FailAnnotation, fail, strings.Join(failures, ", "))
		}
		w.fail = fail
	}
	if w.fail == FailJob && restarts(pod) {
		return w, fmt.Errorf("annotation %s: %q is for pods that terminate, such as those of a Job, but this one has restartPolicy Always; use %s instead",
			FailAnnotation, FailJob, FailCrashLoop)
	}
	if succeed, ok := pod.Annotations[SucceedAnnotation]; ok {
		if succeed != "true" || restarts(pod) || w.fail != "" {
			return w, fmt.Errorf(`annotation %s: %q is not possible; use "true", on a pod that terminates (its restartPolicy is not Always) and without %s`,
				SucceedAnnotation, succeed, FailAnnotation)
		}
		w.succeeds = true
	}
	if after, ok := pod.Annotations[StartAfterAnnotation]; ok {
		duration, err := time.ParseDuration(after)
		if err != nil || duration < 0 {
			return w, fmt.Errorf("annotation %s: %q is not a duration; use one such as 5s, 500ms or 1m30s",
				StartAfterAnnotation, after)
		}
		w.after = duration
	}
	for _, usage := range []string{UsageCPUAnnotation, UsageMemoryAnnotation} {
		if _, err := readAmounts(pod, usage); err != nil {
			return w, err
		}
	}
	return w, nil
}
