package steps

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/cel"
	"github.com/operon-framework/operon/durable"
)

// Until waits until an expression is true for an object, given by its apiVersion, kind and name, in its namespace
// or else that of the run: self.status.phase == 'Up'. It is evaluated again when the object changes, and no worker
// is blocked. If the object does not exist, Until waits for it. Set a Timeout on the step.
//
// The operator needs permissions to get, list and watch the kind.
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
