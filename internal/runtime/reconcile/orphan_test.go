package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// All children of an object that is deleted without them stay, also those that have an order and those that garbage collection does not
// reach, even if it has done its part before the operator starts.
func TestChildrenStayIfTheirOwnerIsDeletedWithoutThem(t *testing.T) {
	t.Parallel()
	for name, stopped := range map[string]bool{"while the operator runs": false, "while it is stopped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			base, top, wide := boxtest.ConfigMap("base", nil), boxtest.ConfigMap("top", nil), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
			base.Labels = map[string]string{plan.ManagedByLabel: "a-chart"}
			composer := boxtest.ComposeFunc(func(_ *boxtest.Box, out *operon.Composition) error {
				out.Child(base.DeepCopy())
				out.Child(top.DeepCopy(), operon.After(base))
				out.Child(wide.DeepCopy())
				return nil
			})
			w.Cleanup(func() { w.Must(client.IgnoreNotFound(w.Client.Delete(w.Afterwards().Context(), wide))) })
			_, stop := w.Run(composer)
			b := w.Box("left", nil)
			w.IsReady(b)
			if stopped {
				stop()
			}
			w.Must(w.Client.Delete(t.Context(), b, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
			if stopped {
				w.Eventually("garbage collection to be done", func(ctx context.Context) error {
					if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
						return err
					}
					if controllerutil.ContainsFinalizer(b, metav1.FinalizerOrphanDependents) {
						return errors.New("it is not")
					}
					return nil
				})
				w.Run(composer)
			}
			w.Gone(b)
			w.Still("the children are nobody's", func(ctx context.Context) error {
				for _, object := range []client.Object{w.EmptyConfigMap("base"), w.EmptyConfigMap("top"), wide.DeepCopy()} {
					if err := w.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
						return err
					}
					want := ""
					if object.GetName() == base.Name {
						want = base.Labels[plan.ManagedByLabel] // the author's
					}
					if manager := object.GetLabels()[plan.ManagedByLabel]; manager != want {
						return fmt.Errorf("%T %s is managed by %q: want %q", object, object.GetName(), manager, want)
					}
					if object.GetDeletionTimestamp() != nil || len(object.GetOwnerReferences()) > 0 || object.GetLabels()[plan.OwnerLabel] != "" {
						return fmt.Errorf("%T %s has the metadata %v", object, object.GetName(), object.GetLabels())
					}
				}
				return nil
			})
		})
	}
}
