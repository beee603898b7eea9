package deploy

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

func addressOf(object *unstructured.Unstructured) string { return tree.Address(object) }

func isNamespace(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Namespace" && object.GetAPIVersion() == "v1"
}

func isDeployment(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Deployment" && object.GroupVersionKind().Group == "apps"
}

// partOf returns the ID of the deployment to which an object belongs.
func partOf(object *unstructured.Unstructured) string { return object.GetLabels()[plan.PartOfLabel] }

// same reports whether two states of an object have the same content.
func same(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(content(a), content(b))
}

// content returns an object without the fields that change automatically with a write.
func content(object *unstructured.Unstructured) map[string]any {
	bare := object.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		unstructured.RemoveNestedField(bare.Object, "metadata", field)
	}
	delete(bare.Object, "status")
	return bare.Object
}
