package operontest

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// ComesUp makes the object with the kind and name of object ready, as its controllers would: workloads, pods and
// volumes by their status, and others by a Ready condition. On a real cluster it does nothing, because the
// controllers do it.
func ComesUp(object client.Object) Change {
	return func(ctx context.Context, p Place) error {
		if p.real {
			return nil
		}
		kind, err := apiutil.GVKForObject(object, p.Scheme())
		if err != nil {
			return err
		}
		loose := &unstructured.Unstructured{}
		loose.SetGroupVersionKind(kind)
		loose.SetNamespace(object.GetNamespace())
		loose.SetName(object.GetName())
		return EditStatus(loose, func(live *unstructured.Unstructured) { live.Object["status"] = up(live) })(ctx, p)
	}
}

// up returns the status of an object that is ready.
func up(live *unstructured.Unstructured) map[string]any {
	status, _ := live.Object["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	set := ready(live.GroupVersionKind().GroupKind(), replicas(live))
	set["observedGeneration"] = live.GetGeneration()
	for key, value := range set {
		status[key] = value
	}
	return status
}

// replicas returns the desired number of pods of a workload.
func replicas(live *unstructured.Unstructured) int64 {
	for _, field := range []string{"replicas", "completions"} {
		if n, found, err := unstructured.NestedInt64(live.Object, "spec", field); found && err == nil {
			return n
		}
	}
	return 1
}

// ready returns the status of a kind with n ready replicas.
func ready(kind schema.GroupKind, n int64) map[string]any {
	switch kind.String() {
	case "Deployment.apps":
		return map[string]any{
			"replicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n,
			"conditions": conditions("Available", "Progressing"),
		}
	case "StatefulSet.apps":
		return map[string]any{
			"replicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n, "currentReplicas": n,
			"currentRevision": "1", "updateRevision": "1",
		}
	case "ReplicaSet.apps":
		return map[string]any{"replicas": n, "fullyLabeledReplicas": n, "readyReplicas": n, "availableReplicas": n}
	case "DaemonSet.apps":
		return map[string]any{
			"desiredNumberScheduled": n, "currentNumberScheduled": n, "updatedNumberScheduled": n, "numberReady": n, "numberAvailable": n,
		}
	case "Job.batch":
		return map[string]any{"succeeded": n, "startTime": epoch.Format(time.RFC3339), "conditions": conditions("Complete")}
	case "Pod":
		return map[string]any{"phase": "Running", "conditions": conditions("Ready")}
	case "PersistentVolumeClaim":
		return map[string]any{"phase": "Bound"}
	}
	return map[string]any{"conditions": conditions("Ready")}
}

func conditions(types ...string) []any {
	var all []any
	for _, of := range types {
		all = append(all, map[string]any{
			"type": of, "status": "True", "reason": "ComesUp", "message": fmt.Sprintf("the test sets it to %s", of),
			"lastTransitionTime": epoch.Format(time.RFC3339),
		})
	}
	return all
}
