package controlplane_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A namespace that is deleted is emptied and goes, without the five seconds that members of larger clusters
// are given to hear of it, and nothing comes into it meanwhile. What has a finalizer keeps it.
func TestNamespaceGoes(t *testing.T) {
	const name = "going"
	made, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps(name)
	for _, one := range []metav1.ObjectMeta{{Name: "plain"}, {Name: "kept", Finalizers: []string{"example.com/keeps"}}} {
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: one}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("a late creation is answered by %v", err)
	}
	within(t, soon, "the plain object is gone", func(ctx context.Context) (bool, error) {
		_, err := maps.Get(ctx, "plain", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	kept, err := maps.Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept.Finalizers = nil
	if _, err := maps.Update(t.Context(), kept, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, "the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, made.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}
