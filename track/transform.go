package track

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/plan"
)

// slim is what a watch does to an object before it holds it. Children are read unstructured
// and keep who manages which field, in short, for drift is told by it. What an author reads
// typed keeps nothing of that.
func slim(object any) (any, error) {
	if child, ok := object.(*unstructured.Unstructured); ok {
		return child, plan.Compact(child)
	}
	if read, err := meta.Accessor(object); err == nil {
		read.SetManagedFields(nil)
	}
	return object, nil
}
