package kube

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ResumedAnnotation is on a CustomResourceDefinition whose deletion was resumed. Its value is the time, as in RFC 3339.
const ResumedAnnotation = "operon.dev/deletion-resumed"

// ResumeDeletion lets an API server continue the deletion of a CustomResourceDefinition that it has stopped, and does nothing to other objects.
//
// The controller that deletes the custom resources fails if the storage of the kind is not ready, such as shortly after the definition was
// created. It records the failure in the condition Terminating, and tries again at once. If its cache does not show this record yet, the
// attempt ends in a conflict, which it expects to be followed by an event; but it ignores events in which only that condition differs
// (crd_finalizer.go of k8s.io/apiextensions-apiserver v0.37.2). The deletion then waits for the next resync, up to five minutes. Any other
// change lets the controller continue.
func (c *Client) ResumeDeletion(ctx context.Context, object *unstructured.Unstructured) error {
	if object.GetKind() != "CustomResourceDefinition" || object.GetDeletionTimestamp() == nil || !deletionFailed(object) {
		return nil
	}
	_, err := c.Merge(ctx, object, map[string]any{"metadata": map[string]any{
		"uid": object.GetUID(), "annotations": map[string]any{ResumedAnnotation: time.Now().UTC().Format(time.RFC3339)},
	}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsForbidden(err) { // a user who may only delete has to wait
		return nil
	}
	if err != nil {
		return fmt.Errorf("resume the deletion of CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	return nil
}

// deletionFailed reports whether the last attempt to delete the custom resources of a definition has failed.
func deletionFailed(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, one := range conditions {
		if fields, is := one.(map[string]any); is && fields["type"] == string(apiextensionsv1.Terminating) {
			return fields["reason"] == "InstanceDeletionFailed"
		}
	}
	return false
}
