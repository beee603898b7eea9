package oracle

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/core/readiness"
	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/prove/normalize"
	"github.com/operon-framework/operon/internal/prove/requestlog"
)

// truthful checks what custom resources report about themselves when the step has become silent.
func truthful(m *moment) []finding.Finding {
	if !m.settled() {
		return nil
	}
	for _, one := range m.state().Objects {
		object := one.Live()
		if !one.ByUser || !normalize.IsCustom(object.GroupVersionKind().GroupKind()) || object.GetDeletionTimestamp() != nil {
			continue
		}
		if f, behind := behind(one); behind {
			return m.suspended([]finding.Finding{f})
		}
		if f, lies := lies(m, one); lies {
			return []finding.Finding{f}
		}
	}
	return nil
}

// behind finds a status that reports that it is about an older spec.
func behind(one *normalize.Object) (finding.Finding, bool) {
	object := one.Live()
	observed, there, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if !there || observed >= object.GetGeneration() {
		return finding.Finding{}, false
	}
	return finding.Finding{
		Property: finding.Truthful, Of: refTo(one),
		Message: fmt.Sprintf("status.observedGeneration of the %s lags behind the spec", one.Kind),
		Diff:    []finding.Difference{{Of: one.String(), Path: "status.observedGeneration", Want: `"current"`, Got: `"behind"`}},
	}, true
}

// lies finds a custom resource that reports that it is ready while one of its children is not.
func lies(m *moment, one *normalize.Object) (finding.Finding, bool) {
	path, full := saysReady(one.Live())
	if path == "" {
		return finding.Finding{}, false
	}
	if f, lies := m.passesOver(one, path); lies {
		return f, true
	}
	for _, child := range m.children(one) {
		why, ready := isReady(child.Live(), full)
		if ready {
			continue
		}
		return finding.Finding{
			Property: finding.Truthful, Of: refTo(one),
			Message: fmt.Sprintf("the %s reports ready although its %s is not", one.Kind, child.Kind),
			Diff: []finding.Difference{
				{Of: one.String(), Path: path, Want: "false", Got: "true"},
				{Of: child.String(), Path: "(readiness)", Want: `"Ready"`, Got: fmt.Sprintf("%q", why)},
			},
		}, true
	}
	return finding.Finding{}, false
}

// passesOver finds a custom resource that reports that it is ready although the operator requested an object
// that it refers to, and the response was that this object does not exist.
func (m *moment) passesOver(one *normalize.Object, path string) (finding.Finding, bool) {
	unmet := m.does.Unmet
	if unmet == nil || m.normal != nil {
		return finding.Finding{}, false
	}
	applied := slices.ContainsFunc(m.does.Apply, func(object *unstructured.Unstructured) bool {
		return object.GetKind() == one.Kind && object.GetName() == one.Live().GetName()
	})
	looked := slices.ContainsFunc(m.run.requests(m.i), func(r requestlog.Request) bool {
		return r.Verb == "get" && r.Name == unmet.Name && r.Served == 404
	})
	return finding.Finding{
		Property: finding.Truthful, Of: refTo(one),
		Message: fmt.Sprintf("the %s reports ready although the %s that it references does not exist", one.Kind, unmet.Kind),
		Diff:    []finding.Difference{{Of: one.String(), Path: path, Want: "false", Got: "true"}},
	}, applied && looked
}

// saysReady returns the path of the field in which an object reports that it is ready, or an empty path if it does not. full
// is true if the object reports this for all of its parts: an object that only reports that it is available may mean a part.
func saysReady(object *unstructured.Unstructured) (path string, full bool) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	is := map[string]bool{}
	for _, one := range conditions {
		condition, ok := one.(map[string]any)
		if !ok {
			continue
		}
		observed, there := condition["observedGeneration"].(int64)
		if there && observed < object.GetGeneration() {
			continue // it reports this about an older spec
		}
		name, _ := condition["type"].(string)
		is[name] = condition["status"] == "True"
	}
	switch ready, there := is["Ready"]; {
	case ready:
		return "status.conditions[Ready].status", true
	case there:
		return "", false
	case is["Available"]:
		return "status.conditions[Available].status", false
	case len(is) > 0:
		return "", false
	}
	if ready, _, _ := unstructured.NestedBool(object.Object, "status", "ready"); ready {
		return "status.ready", true
	}
	if phase, _, _ := unstructured.NestedString(object.Object, "status", "phase"); slices.Contains([]string{"Ready", "Running", "Available"}, phase) {
		return "status.phase", phase == "Ready"
	}
	return "", false
}

// judged contains the kinds of children that have a readiness.
var judged = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Pod", "Service", "PersistentVolumeClaim"}

// children returns the objects that the operator created for a custom resource: the objects that it owns, and,
// if it is the only custom resource, all objects without an owner.
func (m *moment) children(of *normalize.Object) []*normalize.Object {
	single := true
	for _, one := range m.state().Objects {
		if one != of && one.ByUser && normalize.IsCustom(one.Live().GroupVersionKind().GroupKind()) {
			single = false
		}
	}
	var all []*normalize.Object
	for _, one := range m.state().Objects {
		if one.ByUser || !one.ByOperator || !slices.Contains(judged, one.Kind) {
			continue
		}
		owners := one.Live().GetOwnerReferences()
		if owns(of.Live().GetUID(), one.Live()) || single && len(owners) == 0 {
			all = append(all, one)
		}
	}
	return all
}

func owns(owner types.UID, object *unstructured.Unstructured) bool {
	for _, one := range object.GetOwnerReferences() {
		if one.UID == owner {
			return true
		}
	}
	return false
}

// isReady reports whether a child is ready: all of it if full is true, or else at least a part of it.
func isReady(child *unstructured.Unstructured, full bool) (why string, ready bool) {
	if child.GetKind() == "PersistentVolumeClaim" {
		// A claim that waits for its first consumer is as it should be.
		phase, _, _ := unstructured.NestedString(child.Object, "status", "phase")
		return "its volume is lost", phase != "Lost"
	}
	if !full && partly(child) {
		return "", true
	}
	is := readiness.Of(child.GroupVersionKind(), child)
	return is.Message, is.Status == readiness.Ready
}

// partly reports whether a part of a child's workload is running. Kubernetes calls this
// available.
func partly(child *unstructured.Unstructured) bool {
	wanted, there, _ := unstructured.NestedInt64(child.Object, "spec", "replicas")
	for _, field := range []string{"availableReplicas", "readyReplicas", "numberAvailable"} {
		if n, _, _ := unstructured.NestedInt64(child.Object, "status", field); n > 0 {
			return true
		}
	}
	return there && wanted == 0
}
