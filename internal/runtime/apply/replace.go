package apply

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/internal/core/plan"
)

// adopting are the kinds whose controllers adopt pods, and ReplicaSets, that their selector matches and that have no
// controller.
var adopting = []string{"StatefulSet", "Deployment", "DaemonSet", "ReplicaSet"}

// replace deletes a child that is recreated when it is gone.
func (a *Applier) replace(ctx context.Context, action plan.Action) error {
	policy := metav1.DeletePropagationBackground
	kind := action.Live.Kind
	if kind.Group == appsv1.GroupName && slices.Contains(adopting, kind.Kind) {
		live := bare(action.Live)
		err := a.Client.Get(ctx, client.ObjectKeyFromObject(live), live)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look at %s: %w", action.ID(), err)
		}
		if selectsAll(live, action.Desired) {
			policy = metav1.DeletePropagationOrphan // the pods keep running
		}
	}
	return a.delete(ctx, action.Live, policy)
}

// selectsAll reports whether the selector of a workload matches everything that the selector of an older one matches: it
// has no requirement that the older one does not have. Pods that it does not match would be left without a controller.
func selectsAll(older, workload *unstructured.Unstructured) bool {
	had, _, _ := unstructured.NestedStringMap(older.Object, "spec", "selector", "matchLabels")
	has, _, _ := unstructured.NestedStringMap(workload.Object, "spec", "selector", "matchLabels")
	for key, value := range has {
		if before, ok := had[key]; !ok || before != value {
			return false
		}
	}
	hadAlso, _, _ := unstructured.NestedSlice(older.Object, "spec", "selector", "matchExpressions")
	hasAlso, _, _ := unstructured.NestedSlice(workload.Object, "spec", "selector", "matchExpressions")
	for _, requirement := range hasAlso {
		if !slices.ContainsFunc(hadAlso, func(before any) bool { return reflect.DeepEqual(before, requirement) }) {
			return false
		}
	}
	return true
}
