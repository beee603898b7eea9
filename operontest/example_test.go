package operontest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/operontest"
)

// What does the operator do if it temporarily has no permission to write a ConfigMap?
func ExampleOperator_Story() {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "desk", errors.New("no permission"))
	story, err := operontest.New(lit{}, addLamp).Story(context.Background(), lampCase{
		Object: lamp(4),
		Then: []step{{
			Name: "a permission is taken away, and the lamp turned up",
			Do: []operontest.Change{
				operontest.Refuse("change ConfigMap desk", denied),
				operontest.Edit(lamp(4), func(l *Lamp) { l.Spec.Watts = 9 }),
			},
		}, {
			Name: "an hour passes",
			Wait: time.Hour,
		}, {
			Name: "the permission is given back",
			Do:   []operontest.Change{operontest.Refuse("change ConfigMap desk", nil)},
			Wait: time.Minute,
		}},
	})
	fmt.Println(story, err)
	// Output:
	// the object is created
	//   write create ConfigMap desk
	//   write status Lamp desk
	//   event Created: created ConfigMap desk
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
	// a permission is taken away, and the lamp turned up
	//   write status Lamp desk
	//   event PermissionDenied: apply ConfigMap desk: configmaps "desk" is forbidden: no permission
	//   Ready=False PermissionDenied: apply ConfigMap desk: configmaps "desk" is forbidden: no permission
	// an hour passes
	//   Ready=False PermissionDenied: apply ConfigMap desk: configmaps "desk" is forbidden: no permission
	// the permission is given back
	//   write change ConfigMap desk
	//   write status Lamp desk
	//   event Updated: updated: ConfigMap desk
	//   event Ready: all resources are up to date and ready
	//   Ready=True Ready: all resources are up to date and ready
	//  <nil>
}
