package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/plan"
)

// marks are the labels and annotations by which a child is known as one.
var (
	markLabels      = []string{plan.OwnerLabel, plan.PartOfLabel, ManagedByLabel}
	markAnnotations = []string{plan.HashAnnotation, plan.AfterAnnotation, plan.RemovalAnnotation}
)

// release leaves a child behind: as it is, without the marks of its owner. What it holds
// otherwise stays, so this is no apply, which would take back the fields it leaves out.
func (a *Applier) release(ctx context.Context, live *unstructured.Unstructured) error {
	owner := live.GetLabels()[plan.OwnerLabel]
	free := live.DeepCopy()
	free.SetLabels(without(live.GetLabels(), markLabels))
	free.SetAnnotations(without(live.GetAnnotations(), markAnnotations))
	free.SetOwnerReferences(slices.DeleteFunc(live.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return string(o.UID) == owner }))
	err := a.client.Patch(ctx, free, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), client.FieldOwner(a.manager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("release %s: %w", plan.Of(live), err)
	}
	a.released(live)
	return nil
}

func without(all map[string]string, keys []string) map[string]string {
	left := maps.Clone(all)
	for _, key := range keys {
		delete(left, key)
	}
	return left
}
