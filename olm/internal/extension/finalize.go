package extension

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	coreplan "github.com/operon-framework/operon/internal/core/plan"

	v1 "github.com/operon-framework/operon/internal/olm/api/extension/v1"
	"github.com/operon-framework/operon/internal/olm/api/v1alpha1"
)

// Finalize implements operon.Finalizer: first the InstallPlans are deleted, which could otherwise write a version again, and then the versions,
// while their OperatorGroup exists. CustomResourceDefinitions and custom resources stay.
func (*Composer) Finalize(ctx context.Context, of *v1.ClusterExtension, out *operon.Finalization) error {
	var plans v1alpha1.InstallPlanList
	if err := out.Client().List(ctx, &plans, client.InNamespace(of.Spec.Namespace), client.MatchingLabels{coreplan.OwnerLabel: string(of.UID)}); err != nil {
		return err
	}
	for i := range plans.Items {
		if err := remove(ctx, out, &plans.Items[i]); err != nil {
			return err
		}
	}
	if len(plans.Items) > 0 {
		return nil
	}
	var list v1alpha1.ClusterServiceVersionList
	if err := out.Client().List(ctx, &list, client.InNamespace(of.Spec.Namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		if !belongs(&list.Items[i], of) {
			continue
		}
		if err := remove(ctx, out, &list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object, and waits until it is gone: its own finalizer removes what garbage collection does not.
func remove(ctx context.Context, out *operon.Finalization, object client.Object) error {
	uid := object.GetUID()
	if _, err := out.Get(ctx, object.DeepCopyObject().(client.Object)); err != nil { // it is watched
		return err
	}
	out.Wait("Uninstalling", fmt.Sprintf("waits until %s is removed", object.GetName()))
	out.RequeueAfter(timing.cleanup)
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	return client.IgnoreNotFound(out.Client().Delete(ctx, object, client.Preconditions{UID: &uid}))
}
