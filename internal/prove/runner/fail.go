package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/internal/prove/workload"
)

// failAnnotation makes something fail on a simulated node: see docs/simulated-nodes.md. It is an annotation of the
// pods or of the world's namespace, so that nothing fails in other worlds.
const failAnnotation = "sim.operon.dev/fail"

// The names of the simulated node for the failures that workloads call lost-node and unbound-volume.
const (
	simLost    = "lost"
	simUnbound = "unbound"
)

// fail makes children fail: existing pods, or claims that are created later.
func (w *world) fail(ctx context.Context, f *workload.Failure) error {
	if f.How == workload.UnboundVolume {
		return w.annotate(ctx, namespaceOf(w.namespace), simUnbound)
	}
	pods, err := w.podsToCome(ctx)
	if err != nil {
		return err
	}
	if f.Pods > 0 && f.Pods < len(pods) {
		pods = pods[:f.Pods]
	}
	if f.How == workload.LostNode {
		return w.lose(ctx, pods)
	}
	for _, pod := range pods {
		if err := w.annotate(ctx, workload.RefOf(pod), f.How); err != nil {
			return err
		}
	}
	return nil
}

// lose makes pods lose their node. Kubernetes would evict pods that do not tolerate this after five minutes. lose evicts
// them immediately.
func (w *world) lose(ctx context.Context, pods []*unstructured.Unstructured) error {
	for _, pod := range pods {
		if err := w.annotate(ctx, workload.RefOf(pod), simLost); err != nil {
			return err
		}
	}
	for _, pod := range pods {
		stays, err := toleratesLoss(pod)
		if err != nil {
			return err
		}
		if stays {
			continue
		}
		if err := w.evict(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// toleratesLoss reports whether a pod stays on a lost node forever, as the pods of a DaemonSet do.
func toleratesLoss(pod *unstructured.Unstructured) (bool, error) {
	var spec struct{ Spec corev1.PodSpec }
	content, err := pod.MarshalJSON()
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(content, &spec); err != nil {
		return false, fmt.Errorf("pod %s: %w", pod.GetName(), err)
	}
	for _, one := range spec.Spec.Tolerations {
		key := one.Key == corev1.TaintNodeUnreachable || one.Key == "" && one.Operator == corev1.TolerationOpExists
		effect := one.Effect == corev1.TaintEffectNoExecute || one.Effect == ""
		if key && effect && one.TolerationSeconds == nil {
			return true, nil
		}
	}
	return false, nil
}

// evict deletes a pod like the controller for taints of nodes.
func (w *world) evict(ctx context.Context, pod *unstructured.Unstructured) error {
	pods, _, err := w.resource(pod.GroupVersionKind(), pod.GetNamespace(), w.namespace)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": corev1.DisruptionTarget, "status": "True", "reason": "DeletionByTaintManager",
		"message":            "Taint manager: deleting due to NoExecute taint",
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}}}})
	if err != nil {
		return err
	}
	_, err = pods.Patch(ctx, pod.GetName(), types.StrategicMergePatchType, body, metav1.PatchOptions{FieldManager: somebodyElse}, "status")
	if err == nil {
		err = w.cluster.DeleteBefore(ctx, pod) // not the pod that a StatefulSet creates in its place
	}
	if apierrors.IsNotFound(err) {
		return nil // it was deleted in the meantime
	}
	return err
}

// heal ends all failures, including failures of pods that are being deleted and could not be removed.
func (w *world) heal(ctx context.Context) error {
	for _, object := range w.scene.State() {
		if !isPod(object) || object.GetAnnotations()[failAnnotation] == "" {
			continue
		}
		if err := w.annotate(ctx, workload.RefOf(object), nil); err != nil {
			return err
		}
	}
	return w.annotate(ctx, namespaceOf(w.namespace), nil)
}

// fails reports whether a step of the plan makes something fail.
func (w *world) fails() bool {
	for _, step := range w.plan.Workload.Steps {
		if step.Fail != nil {
			return true
		}
	}
	return false
}

// podsToCome returns the world's pods. If there are none, it waits for at least one: on a slow cluster, the
// controllers may not have created them yet.
func (w *world) podsToCome(ctx context.Context) ([]*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, scaled(w.pace.Patience, w.Witness.Slowness()))
	defer cancel()
	for {
		changed := w.scene.Changed()
		if pods := w.pods(); len(pods) > 0 {
			return pods, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.New("no pods exist that could fail")
		}
	}
}

// pods returns the pods of the world that are not being deleted.
func (w *world) pods() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range w.scene.State() {
		if isPod(object) && object.GetDeletionTimestamp() == nil {
			all = append(all, object)
		}
	}
	return all
}

func isPod(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Pod" && object.GetAPIVersion() == "v1"
}

// onLostNode reports whether a pod cannot be removed before its node is back.
func onLostNode(object *unstructured.Unstructured) bool {
	return isPod(object) && object.GetAnnotations()[failAnnotation] == simLost
}

func namespaceOf(name string) workload.Ref {
	return workload.Ref{APIVersion: "v1", Kind: "Namespace", Name: name}
}

// annotate sets how an object fails. A nil value ends the failure.
func (w *world) annotate(ctx context.Context, of workload.Ref, how any) error {
	err := w.merge(ctx, of, map[string]any{"metadata": map[string]any{"annotations": map[string]any{failAnnotation: how}}})
	if apierrors.IsNotFound(err) {
		return nil // it was deleted in the meantime
	}
	return err
}
