// Package readiness determines whether an object is ready, from the object alone.
//
// The rules are those of kstatus, which knows the built-in kinds and reads the conditions of
// others. This package adds two things. The rules are evaluated once for each state of an object,
// when a watch event delivers it, so the object need not be held in memory afterwards. And the package
// knows the kinds that need only their metadata, because nothing in them ever becomes ready.
package readiness

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Status is the readiness of an object. The set is closed.
type Status string

const (
	// Ready means that there is nothing to wait for.
	Ready Status = "Ready"
	// Waiting means that a controller still works on the object.
	Waiting Status = "Waiting"
	// Failed means that the object itself reports a failure.
	Failed Status = "Failed"
)

// State is the readiness of an object and the reason. The zero value is not a valid state.
type State struct {
	Status Status
	// Message is a readable clause. It is empty for Ready.
	Message string
}

// Of returns the readiness of an object of a kind: a Go type or unstructured. The object is not
// changed. An object that kstatus cannot read, such as one with a status of another shape, is Waiting with
// the reason as its message.
func Of(kind schema.GroupVersionKind, object runtime.Object) State {
	loose, err := reduced(kind, object)
	if err != nil {
		return State{Waiting, fmt.Sprintf("cannot determine whether it is ready: %v", err)}
	}
	found, err := status.Compute(loose)
	if err != nil {
		return State{Waiting, fmt.Sprintf("cannot determine whether it is ready: %v", err)}
	}
	switch found.Status {
	case status.CurrentStatus:
		return State{Status: Ready}
	case status.FailedStatus:
		return State{Failed, why(found)}
	}
	return State{Waiting, why(found)}
}

// why returns the message of kstatus, or if that is empty, its reason.
func why(found *status.Result) string {
	if found.Message != "" {
		return found.Message
	}
	for _, condition := range found.Conditions {
		if condition.Reason != "" {
			return condition.Reason
		}
	}
	return "it is not ready"
}

// reduced returns an object without the parts that no rule reads and that are expensive to convert.
func reduced(kind schema.GroupVersionKind, object runtime.Object) (*unstructured.Unstructured, error) {
	if loose, ok := object.(*unstructured.Unstructured); ok {
		return loose, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(slim(object))
	if err != nil {
		return nil, err
	}
	loose := &unstructured.Unstructured{Object: fields}
	loose.SetGroupVersionKind(kind)
	return loose, nil
}

// slim leaves out the pod templates of workloads, by far their largest part.
func slim(object runtime.Object) runtime.Object {
	switch o := object.(type) {
	case *appsv1.Deployment:
		c := *o
		c.ObjectMeta, c.Spec.Template = bare(o.ObjectMeta), corev1.PodTemplateSpec{}
		return &c
	case *appsv1.StatefulSet:
		c := *o
		c.ObjectMeta, c.Spec.Template = bare(o.ObjectMeta), corev1.PodTemplateSpec{}
		return &c
	case *appsv1.DaemonSet:
		c := *o
		c.ObjectMeta, c.Spec.Template = bare(o.ObjectMeta), corev1.PodTemplateSpec{}
		return &c
	case *batchv1.Job:
		c := *o
		c.ObjectMeta, c.Spec.Template = bare(o.ObjectMeta), corev1.PodTemplateSpec{}
		return &c
	}
	return object
}

// bare returns the metadata that rules read.
func bare(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: meta.Name, Generation: meta.Generation, DeletionTimestamp: meta.DeletionTimestamp}
}

// ByMetadata reports whether an object of a kind is ready as soon as it exists, so that only its
// metadata has to be watched.
func ByMetadata(kind schema.GroupKind) bool { return still[kind] }

// still lists the built-in kinds without a controller that brings them to a state.
var still = map[schema.GroupKind]bool{
	{Kind: "ConfigMap"}:                                                               true,
	{Kind: "Secret"}:                                                                  true,
	{Kind: "ServiceAccount"}:                                                          true,
	{Kind: "Endpoints"}:                                                               true,
	{Kind: "LimitRange"}:                                                              true,
	{Kind: "PodTemplate"}:                                                             true,
	{Group: "apps", Kind: "ControllerRevision"}:                                       true,
	{Group: "batch", Kind: "CronJob"}:                                                 true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:                                     true,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:                                true,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                                true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                               true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                      true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                                true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                         true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                               true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                      true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                   true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
}

// OfMetadata is Of for an object of a kind for which ByMetadata returns true.
func OfMetadata(meta metav1.Object) State {
	if meta.GetDeletionTimestamp() != nil {
		return State{Waiting, "is being deleted"}
	}
	return State{Status: Ready}
}
