package reset_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
)

// If a controller notices a reset late, objects that it creates for a removed owner are rejected, even after another reset.
// Objects for an owner that was created again are accepted.
func TestWhatAResetRemovedOwnsNothing(t *testing.T) {
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}
	first, err := maps.Create(t.Context(), owner, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ofFirst := ownedBy(first)
	if _, err := maps.Create(t.Context(), ofFirst, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := resetter.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := maps.Create(t.Context(), ofFirst, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || !strings.Contains(err.Error(), "a reset of the cluster removed its owner, ConfigMap owner") {
			t.Errorf("a dependent of what the reset removed: %v", err)
		}
		refusesAnyWay(t, ofFirst)
	}
	second, err := maps.Create(t.Context(), owner, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(t.Context(), ownedBy(second), metav1.CreateOptions{}); err != nil {
		t.Errorf("a dependent of an owner that is back: %v", err)
	}
}

// refusesAnyWay checks that an object is rejected without a name and with server-side apply.
func refusesAnyWay(t *testing.T, object *corev1.ConfigMap) {
	t.Helper()
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	unnamed := object.DeepCopy()
	unnamed.Name, unnamed.GenerateName = "", "owned-"
	if made, err := maps.Create(t.Context(), unnamed, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("made by generateName: %q, %v", made.Name, err)
	}
	owner := object.OwnerReferences[0]
	applied := applycorev1.ConfigMap(object.Name, metav1.NamespaceDefault).WithOwnerReferences(
		applymetav1.OwnerReference().WithAPIVersion(owner.APIVersion).WithKind(owner.Kind).WithName(owner.Name).WithUID(owner.UID))
	if _, err := maps.Apply(t.Context(), applied, metav1.ApplyOptions{FieldManager: "test", Force: true}); !apierrors.IsForbidden(err) {
		t.Errorf("made by server-side apply: %v", err)
	}
}

func ownedBy(owner *corev1.ConfigMap) *corev1.ConfigMap {
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{reference}}}
}
