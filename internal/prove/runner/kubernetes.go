package runner

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// atWork describes what Kubernetes itself still has to do with the world's objects, or returns "" if there is
// nothing. On a slow machine this takes time during which the operator and the objects are silent. If long is true, they have been
// silent for so long that Kubernetes would have created missing pods: it cannot, for example because their ServiceAccount does not exist.
func atWork(objects []*unstructured.Unstructured, long bool) string {
	there := map[types.UID]*unstructured.Unstructured{}
	for _, object := range objects {
		there[object.GetUID()] = object
	}
	for _, object := range objects {
		if what := behind(object, objects, there); what != "" && (what != podless || !long) {
			return fmt.Sprintf("Kubernetes is at work: %s/%s %s", object.GetKind(), object.GetName(), what)
		}
	}
	return ""
}

// podless describes what Kubernetes perhaps cannot finish, such as a workload without all its pods.
const podless = "is not complete yet"

// behind describes what still has to be done with an object.
func behind(object *unstructured.Unstructured, all []*unstructured.Unstructured, there map[types.UID]*unstructured.Unstructured) string {
	switch {
	case abandoned(object, there):
		return "is garbage"
	case onLostNode(object):
		return ""
	case object.GetDeletionTimestamp() != nil && !held(object):
		return "is being deleted"
	}
	switch object.GetAPIVersion() + " " + object.GetKind() {
	case "apps/v1 Deployment":
		return uncounted(object, all)
	case "apps/v1 DaemonSet":
		return unlike(object, all)
	case "apps/v1 ReplicaSet", "apps/v1 StatefulSet":
		return miscounted(object, all)
	case "v1 Pod":
		return unplaced(object, all)
	case "batch/v1 Job":
		return unfinished(object, all)
	}
	return ""
}

// unfinished describes a Job whose controller has not begun, has not created its pods, or has not yet seen that a pod is
// done.
func unfinished(job *unstructured.Unstructured, all []*unstructured.Unstructured) string {
	if hasCondition(job, "Complete") || hasCondition(job, "Failed") || flag(job, "spec", "suspend") || number(job, "spec", "parallelism") == 0 {
		return ""
	}
	if text(job, "status", "startTime") == "" {
		return "has not begun"
	}
	pods := 0
	for _, object := range all {
		if object.GetKind() != "Pod" || !ownedBy(object, job.GetUID()) {
			continue
		}
		if pods++; text(object, "status", "phase") == "Succeeded" {
			return "does not know yet that its pod is done"
		}
	}
	if pods == 0 {
		return podless
	}
	return ""
}

// abandoned reports whether all owners of an object were deleted, so that the garbage collector will delete it.
// Cluster-scoped owners are not known here.
func abandoned(object *unstructured.Unstructured, there map[types.UID]*unstructured.Unstructured) bool {
	owners := object.GetOwnerReferences()
	if len(owners) == 0 || object.GetDeletionTimestamp() != nil {
		return false
	}
	for _, owner := range owners {
		if there[owner.UID] != nil || withoutNamespace[owner.Kind] {
			return false
		}
	}
	return true
}

// withoutNamespace contains cluster-scoped kinds of owners.
var withoutNamespace = map[string]bool{"Node": true, "Namespace": true}

// held reports whether an object has finalizers that a client other than Kubernetes has to remove.
func held(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(object.GetFinalizers(), func(name string) bool {
		return name != "foregroundDeletion" && name != "orphan" && name != "kubernetes.io/pvc-protection" && name != "batch.kubernetes.io/job-tracking"
	})
}

// unseen describes an object whose controller has not observed its current generation.
func unseen(object *unstructured.Unstructured) string {
	if number(object, "status", "observedGeneration") < object.GetGeneration() {
		return "was not seen by its controller yet"
	}
	return ""
}

// uncounted describes a Deployment whose status does not match that of its ReplicaSets.
func uncounted(deployment *unstructured.Unstructured, all []*unstructured.Unstructured) string {
	if what := unseen(deployment); what != "" {
		return what
	}
	replicas, ready := int64(0), int64(0)
	for _, object := range all {
		if object.GetKind() == "ReplicaSet" && ownedBy(object, deployment.GetUID()) {
			replicas += number(object, "status", "replicas")
			ready += number(object, "status", "readyReplicas")
		}
	}
	if number(deployment, "status", "replicas") != replicas || number(deployment, "status", "readyReplicas") != ready {
		return "does not know the state of its ReplicaSets yet"
	}
	return ""
}

// miscounted describes a set whose status does not match its current pods, or that does not have all its pods yet.
func miscounted(set *unstructured.Unstructured, all []*unstructured.Unstructured) string {
	if what := unseen(set); what != "" {
		return what
	}
	pods, ready := podsOf(set, all)
	switch {
	case number(set, "status", "replicas") != pods, number(set, "status", "readyReplicas") != ready:
		return "does not know its pods yet"
	case pods == number(set, "spec", "replicas"):
		return ""
	case set.GetKind() == "ReplicaSet" && !hasCondition(set, "ReplicaFailure"), set.GetKind() == "StatefulSet" && ready == pods:
		return podless // a StatefulSet creates or deletes one pod at a time, and waits for pods that are not ready
	}
	return ""
}

// podsOf returns the number of pods that the status of a set has to count, and of those that are ready.
func podsOf(set *unstructured.Unstructured, all []*unstructured.Unstructured) (pods, ready int64) {
	for _, object := range all {
		if !isPod(object) || !ownedBy(object, set.GetUID()) || !counts(set, object) {
			continue
		}
		pods++
		if isReady(object) {
			ready++
		}
	}
	return pods, ready
}

// unlike describes a DaemonSet whose status does not match its pods.
func unlike(set *unstructured.Unstructured, all []*unstructured.Unstructured) string {
	if what := unseen(set); what != "" {
		return what
	}
	if _, ready := podsOf(set, all); number(set, "status", "numberReady") != ready {
		return podless // pods of unsuitable nodes do not count
	}
	return ""
}

// counts reports whether a set's status counts a pod. A StatefulSet does not replace a pod before it is removed,
// and counts it until then.
func counts(set, pod *unstructured.Unstructured) bool {
	return pod.GetDeletionTimestamp() == nil || set.GetKind() == "StatefulSet" && onLostNode(pod)
}

// unready reports whether an object with conditions reports that it is not ready, or a pod has no node.
func unready(objects []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
		return slices.ContainsFunc(conditions(object), func(c map[string]any) bool {
			return (c["type"] == "Ready" || c["type"] == "Available") && c["status"] == "False" && c["reason"] != "PodCompleted"
		}) || isPod(object) && text(object, "spec", "nodeName") == ""
	})
}

// reconciling reports whether an object reports, as kstatus defines it, that its operator is working on it.
func reconciling(objects []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
		return slices.ContainsFunc(conditions(object), func(c map[string]any) bool {
			return c["type"] == "Reconciling" && c["status"] == "True"
		})
	})
}

// unplaced describes a pod that the scheduler or the node has not processed yet, or that the scheduler has not processed
// since its volumes exist: the scheduler retries after a second or more.
func unplaced(pod *unstructured.Unstructured, all []*unstructured.Unstructured) string {
	statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	switch {
	case text(pod, "spec", "nodeName") == "" && (!hasCondition(pod, "PodScheduled") || waitsForVolumes(pod) && bound(pod, all)):
		return "is not scheduled yet"
	case text(pod, "spec", "nodeName") == "" && waitsForVolumes(pod):
		return podless // Kubernetes perhaps cannot bind its claims
	case text(pod, "spec", "nodeName") != "" && len(statuses) == 0:
		return "was not started yet"
	}
	return ""
}

// waitsForVolumes reports whether the scheduler postponed a pod because of its claims.
func waitsForVolumes(pod *unstructured.Unstructured) bool {
	return slices.ContainsFunc(conditions(pod), func(c map[string]any) bool {
		message, _ := c["message"].(string)
		return c["type"] == "PodScheduled" && c["status"] == "False" && strings.Contains(strings.ToLower(message), "persistentvolumeclaim")
	})
}

// bound reports whether all claims of a pod are bound.
func bound(pod *unstructured.Unstructured, all []*unstructured.Unstructured) bool {
	return !slices.ContainsFunc(claimsOf(pod), func(name string) bool {
		return !slices.ContainsFunc(all, func(object *unstructured.Unstructured) bool {
			return object.GetKind() == "PersistentVolumeClaim" && object.GetName() == name && text(object, "status", "phase") == "Bound"
		})
	})
}

// claimsOf returns the names of the claims that a pod mounts.
func claimsOf(pod *unstructured.Unstructured) []string {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	var names []string
	for _, volume := range volumes {
		fields, _ := volume.(map[string]any)
		if name, found, _ := unstructured.NestedString(fields, "persistentVolumeClaim", "claimName"); found {
			names = append(names, name)
		}
	}
	return names
}

func ownedBy(object *unstructured.Unstructured, uid types.UID) bool {
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == uid {
			return true
		}
	}
	return false
}

func isReady(pod *unstructured.Unstructured) bool {
	for _, condition := range conditions(pod) {
		if condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}
	return false
}

func hasCondition(object *unstructured.Unstructured, of string) bool {
	return slices.ContainsFunc(conditions(object), func(c map[string]any) bool { return c["type"] == of })
}

func conditions(object *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var all []map[string]any
	for _, one := range list {
		if condition, ok := one.(map[string]any); ok {
			all = append(all, condition)
		}
	}
	return all
}

func number(object *unstructured.Unstructured, fields ...string) int64 {
	n, _, _ := unstructured.NestedInt64(object.Object, fields...)
	return n
}

func text(object *unstructured.Unstructured, fields ...string) string {
	s, _, _ := unstructured.NestedString(object.Object, fields...)
	return s
}

func flag(object *unstructured.Unstructured, fields ...string) bool {
	b, _, _ := unstructured.NestedBool(object.Object, fields...)
	return b
}
