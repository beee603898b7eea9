package steps

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/cel"
	"github.com/operon-framework/operon/durable"
)

// Until waits until an expression is true of an object, by its apiVersion, kind and name, in the
// namespace that it names or else the run's: self.status.phase == 'Up'. It is looked at again when the
// object changes, and no worker is held. An object that is not there is waited for. Give the step a
// Timeout.
//
// The operator needs get, list and watch of the kind.
func Until(name string, object client.Object, expression string) durable.Step[bool] {
	return durable.Step[bool]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (bool, error) {
			holds, err := cel.Condition(expression)
			if err != nil {
				return false, durable.Fail(err)
			}
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
			live.SetNamespace(object.GetNamespace())
			live.SetName(object.GetName())
			if live.GetKind() == "" {
				return false, durable.Fail(fmt.Errorf("the object to wait for has no apiVersion and kind"))
			}
			there, err := a.Get(ctx, live)
			if err != nil {
				return false, err
			}
			if !there {
				return false, durable.Wait(fmt.Sprintf("for %s %s to be there", live.GetKind(), live.GetName()))
			}
			if ok, why := holds(live); !ok {
				return false, durable.Wait(fmt.Sprintf("for %s %s: %s", live.GetKind(), live.GetName(), why))
			}
			return true, nil
		},
	}
}
