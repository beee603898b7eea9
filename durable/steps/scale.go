package steps

import (
	"context"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon/durable"
)

// settle is how often a workload that is being scaled is checked. Its status is read through the scale subresource, which
// cannot be watched.
const settle = 2 * time.Second

// Scale scales a workload, given by its kind, namespace and name, and waits until it has that number of pods, and none that is still
// terminating: the status of a workload does not count these, although they may still use its volumes. It returns the number of replicas before. It consists of two steps, name-before and name: the previous number is
// recorded before it is changed. With back, the workload is scaled back when the run has ended, otherwise only if
// the run is undone.
//
// If the workload is a child that declares replicas, the operator reverts the change as drift: leave the field out
// of the child, or have Compose set it from the object's status.
//
// The operator needs permissions to get and update the scale subresource of the kind, and to list pods.
func Scale(ctx context.Context, run *durable.Run, name string, workload client.Object, replicas int32, back bool) (before int32, err error) {
	before, err = durable.Do(ctx, run, durable.Step[int32]{
		Name: name + "-before",
		Do: func(ctx context.Context, a *durable.Attempt) (int32, error) {
			scale, err := scaleOf(ctx, a, workload)
			return scale.Spec.Replicas, err
		},
	})
	if err != nil {
		return before, err
	}
	step := durable.Step[bool]{
		Name: name,
		Do: func(ctx context.Context, a *durable.Attempt) (bool, error) {
			return true, scaleTo(ctx, a, workload, replicas)
		},
	}
	undo := func(ctx context.Context, a *durable.Attempt, _ bool) error {
		return client.IgnoreNotFound(scaleTo(ctx, a, workload, before))
	}
	if back {
		step.Finally = undo
	} else {
		step.Undo = undo
	}
	_, err = durable.Do(ctx, run, step)
	return before, err
}

func scaleOf(ctx context.Context, a *durable.Attempt, workload client.Object) (*autoscalingv1.Scale, error) {
	scale := &autoscalingv1.Scale{}
	if err := a.Client.SubResource("scale").Get(ctx, workload, scale); err != nil {
		return scale, fmt.Errorf("read the scale of %T %s: %w", workload, workload.GetName(), err)
	}
	return scale, nil
}

// scaleTo scales, unless the number is already correct, and waits until the number of pods matches.
func scaleTo(ctx context.Context, a *durable.Attempt, workload client.Object, replicas int32) error {
	scale, err := scaleOf(ctx, a, workload)
	if err != nil {
		return err
	}
	if scale.Spec.Replicas != replicas {
		scale.Spec.Replicas = replicas
		if err := a.Client.SubResource("scale").Update(ctx, workload, client.WithSubResourceBody(scale)); err != nil {
			return fmt.Errorf("scale %T %s: %w", workload, workload.GetName(), err)
		}
	}
	if scale.Status.Replicas != replicas {
		return durable.WaitFor(settle, fmt.Sprintf("for %s to have %d pods, it has %d", workload.GetName(), replicas, scale.Status.Replicas))
	}
	return ended(ctx, a, workload, scale.Status.Selector)
}

// ended waits until no pod of a workload is terminating. A kind whose scale has no selector does not tell which pods are its own.
func ended(ctx context.Context, a *durable.Attempt, workload client.Object, selector string) error {
	if selector == "" {
		return nil
	}
	matching, err := labels.Parse(selector)
	if err != nil {
		return fmt.Errorf("read the selector of %T %s: %w", workload, workload.GetName(), err)
	}
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := a.Client.List(ctx, pods, client.InNamespace(workload.GetNamespace()), client.MatchingLabelsSelector{Selector: matching}); err != nil {
		return fmt.Errorf("list the pods of %T %s: %w", workload, workload.GetName(), err)
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			return durable.WaitFor(settle, fmt.Sprintf("for the Pod %s of %s to terminate", pods.Items[i].Name, workload.GetName()))
		}
	}
	return nil
}
