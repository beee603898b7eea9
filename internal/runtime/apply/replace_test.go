package apply_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// stateful composes a StatefulSet. Its service, which is immutable, and its selector are in the spec.
func stateful(b *boxtest.Box, out *operon.Composition) error {
	labels := map[string]string{"box": b.Name, "part": b.Spec.Data["part"]}
	out.Child(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: b.Name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)), ServiceName: b.Spec.Data["service"], Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}, operon.Replace())
	return nil
}

// podsOf returns the UIDs of a Box's pods and of their controllers.
func (w *fixture) podsOf(ctx context.Context, b *boxtest.Box) (pods, controllers []types.UID, err error) {
	var list corev1.PodList
	err = w.Client.List(ctx, &list, client.InNamespace(w.Namespace), client.MatchingLabels{"box": b.Name})
	for _, pod := range list.Items {
		pods = append(pods, pod.UID)
		if controller := metav1.GetControllerOf(&pod); controller != nil && pod.DeletionTimestamp == nil {
			controllers = append(controllers, controller.UID)
		}
	}
	slices.Sort(pods)
	return pods, controllers, err
}

// replaced changes the data of a Box, waits until its StatefulSet is replaced and has two pods, and returns the pods before and
// after.
func (w *fixture) replaced(b *boxtest.Box, key, value string) (before, after []types.UID) {
	w.Helper()
	set := &appsv1.StatefulSet{}
	w.Must(w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, set))
	first := set.UID
	before, _, err := w.podsOf(w.Context(), b)
	w.Must(err)
	w.Change(b, func() { b.Spec.Data[key] = value })
	w.Event("Replaced", "StatefulSet "+b.Name)
	w.Eventually("two pods of another StatefulSet", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: b.Name}, set); err != nil {
			return err
		}
		pods, controllers, err := w.podsOf(ctx, b)
		if want := []types.UID{set.UID, set.UID}; err != nil || set.UID == first || len(pods) != 2 || !slices.Equal(controllers, want) {
			return fmt.Errorf("%w: pods %v of %v, the StatefulSet is %s and was %s", err, pods, controllers, set.UID, first)
		}
		after = pods
		return nil
	})
	return before, after
}

// When a StatefulSet is replaced, the new one adopts its pods.
func TestReplaceKeepsPods(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(stateful))
	b := w.Box("stateful", map[string]string{"service": "one", "part": "a"})
	w.IsReady(b)
	if before, after := w.replaced(b, "service", "two"); !slices.Equal(before, after) {
		t.Errorf("the pods were %v and are %v", before, after)
	}
	w.IsReady(b)
}

// Pods that the new selector does not match are deleted, because no controller would own them.
func TestReplaceDeletesPodsThatNothingSelects(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(stateful))
	b := w.Box("selected", map[string]string{"service": "one", "part": "a"})
	w.IsReady(b)
	before, after := w.replaced(b, "part", "b")
	if slices.ContainsFunc(after, func(pod types.UID) bool { return slices.Contains(before, pod) }) {
		t.Errorf("the pods were %v and are %v", before, after)
	}
	w.IsReady(b)
}
