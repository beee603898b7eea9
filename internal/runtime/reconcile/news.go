package reconcile

import (
	"maps"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// changed reports whether more than the status differs. A watch that was interrupted may deliver
// changes by others together with our write.
func changed(before, after client.Object) bool {
	return before.GetUID() != after.GetUID() || before.GetGeneration() != after.GetGeneration() ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
		!reflect.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
}
