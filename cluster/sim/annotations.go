package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// What users write on objects.
const (
	// NodeLabel marks the nodes that are simulated, with the value "true". Pods on other
	// nodes are left alone.
	NodeLabel = "sim.operon.dev/node"

	// FailAnnotation asks for a failure. The values for a pod are FailImagePull, FailCrashLoop,
	// FailNeverReady, FailJob and FailLost, for a node FailLost, for a claim, and for a
	// namespace that stands for all its claims, FailUnbound.
	FailAnnotation = "sim.operon.dev/fail"

	// StartAfterAnnotation delays a pod: its containers start that long after the pod
	// came to its node. The value is a duration such as 5s or 1m30s.
	StartAfterAnnotation = "sim.operon.dev/start-after"
)

// Values of FailAnnotation.
const (
	FailImagePull  = "image-pull"  // the image cannot be pulled
	FailCrashLoop  = "crash-loop"  // the containers exit with code 1 again and again
	FailNeverReady = "never-ready" // the containers run and are not ready
	FailJob        = "job"         // the pod ends as Failed with exit code 1
	FailLost       = "lost"        // the node, or that of the pod, is gone, as after a power cut
	FailUnbound    = "unbound"     // the claim gets no volume
)

// failures are the values of FailAnnotation on a pod.
var failures = []string{FailImagePull, FailCrashLoop, FailNeverReady, FailJob, FailLost}

// wish is what the annotations of a pod ask for.
type wish struct {
	fail  string        // one of failures, or empty
	after time.Duration // of the start
}

// readWish reads a pod's annotations. An error says what is wrong with them and what would
// be right; it is shown to the user in the pod's status.
func readWish(annotations map[string]string, restarts bool) (wish, error) {
	var w wish
	if fail, ok := annotations[FailAnnotation]; ok {
		if !slices.Contains(failures, fail) {
			return w, fmt.Errorf("annotation %s: %q is not known; use one of %s, or remove the annotation",
				FailAnnotation, fail, strings.Join(failures, ", "))
		}
		w.fail = fail
	}
	if w.fail == FailJob && restarts {
		return w, fmt.Errorf("annotation %s: %q is for pods that end, such as a Job's, and this one has restartPolicy Always; use %s instead",
			FailAnnotation, FailJob, FailCrashLoop)
	}
	if after, ok := annotations[StartAfterAnnotation]; ok {
		duration, err := time.ParseDuration(after)
		if err != nil || duration < 0 {
			return w, fmt.Errorf("annotation %s: %q is not a duration; use one such as 5s, 500ms or 1m30s",
				StartAfterAnnotation, after)
		}
		w.after = duration
	}
	return w, nil
}
