package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
)

// The labels and annotations that a merge patch removes from a child.
var (
	unlabelled  = map[string]any{plan.OwnerLabel: nil, plan.PartOfLabel: nil, plan.ShardLabel: nil}
	unannotated = map[string]any{plan.HashAnnotation: nil, plan.AfterAnnotation: nil, plan.RemovalAnnotation: nil}
)

// release leaves a child unchanged except for the marks of its owner. It does not use apply, because that would remove the
// fields that are left out.
func (a *Applier) release(ctx context.Context, live *plan.Live) error {
	others := slices.DeleteFunc(slices.Clone(live.References), func(r metav1.OwnerReference) bool { return string(r.UID) == live.Owner })
	labels := maps.Clone(unlabelled)
	if live.ManagedBy == a.Manager { // a value that the composition set stays
		labels[plan.ManagedByLabel] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":             live.UID,
		"resourceVersion": live.ResourceVersion,
		"labels":          labels,
		"annotations":     unannotated,
		"ownerReferences": others,
	}})
	if err != nil {
		return fmt.Errorf("release %s: %w", live.ID(), err)
	}
	write, answer := a.Writes.Begin(live.ID(), 0), bare(live)
	err = a.Client.Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(a.Manager))
	if err != nil {
		write.Failed()
	}
	if apierrors.IsConflict(err) { // garbage collection, for example, removes references at the same time
		return a.withNewest(ctx, live, func(newest *plan.Live) error { return a.release(ctx, newest) })
	}
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("release %s: %w", live.ID(), err))
	}
	released := *live
	released.ResourceVersion = answer.GetResourceVersion()
	write.Released(&released)
	return nil
}
