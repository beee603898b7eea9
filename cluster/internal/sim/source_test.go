package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// createRestored creates a claim named restored whose volume has the contents of a source.
func createRestored(t *testing.T, namespace string, source *corev1.TypedObjectReference) {
	t.Helper()
	createChanged(t, namespace, func(spec *corev1.PersistentVolumeClaimSpec) { spec.DataSourceRef = source })
}

// createChanged creates a claim named restored with a changed spec.
func createChanged(t *testing.T, namespace string, change func(*corev1.PersistentVolumeClaimSpec)) {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "restored"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
	change(&claim.Spec)
	if _, err := plane.client.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func getRestored(namespace string) func(context.Context) (*corev1.PersistentVolumeClaim, error) {
	return func(ctx context.Context) (*corev1.PersistentVolumeClaim, error) {
		return plane.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, "restored", metav1.GetOptions{})
	}
}

// awaitPending waits for an event about the claim restored that contains the message. The claim must be Pending.
func awaitPending(t *testing.T, namespace, message string) {
	t.Helper()
	await(t, "event with "+message, func(ctx context.Context) (*corev1.EventList, error) {
		return plane.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	}, func(list *corev1.EventList) bool {
		return slices.ContainsFunc(list.Items, func(event corev1.Event) bool { return strings.Contains(event.Message, message) })
	})
	if claim, err := getRestored(namespace)(t.Context()); err != nil || claim.Status.Phase != corev1.ClaimPending {
		t.Fatalf("the claim is %s, error %v: want Pending", claim.Status.Phase, err)
	}
}

func TestClaimWaitsForAClaimToClone(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createRestored(t, namespace, &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "data"})
	awaitPending(t, namespace, "PersistentVolumeClaim "+namespace+"/data, does not exist")
	createClaim(t, namespace, "")
	await(t, "bound clone", getRestored(namespace), bound)
}

func TestClaimWaitsForItsSnapshot(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createRestored(t, namespace, &corev1.TypedObjectReference{APIGroup: new("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "backup"})
	awaitPending(t, namespace, "VolumeSnapshot "+namespace+"/backup, does not exist") // neither does the kind
	client, err := dynamic.NewForConfig(plane.admin)
	if err != nil {
		t.Fatal(err)
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name":        "volumesnapshots.snapshot.storage.k8s.io",
			"annotations": map[string]any{"api-approved.kubernetes.io": "https://github.com/kubernetes-csi/external-snapshotter/pull/814"},
		},
		"spec": map[string]any{
			"group": "snapshot.storage.k8s.io", "scope": "Namespaced",
			"names": map[string]any{"plural": "volumesnapshots", "kind": "VolumeSnapshot"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := crds.Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	snapshots := client.Resource(schema.GroupVersionResource{Group: "snapshot.storage.k8s.io", Version: "v1", Resource: "volumesnapshots"}).Namespace(namespace)
	snapshot := await(t, "snapshot", func(ctx context.Context) (*unstructured.Unstructured, error) {
		return snapshots.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": map[string]any{"name": "backup"},
		}}, metav1.CreateOptions{})
	}, func(*unstructured.Unstructured) bool { return true })
	awaitPending(t, namespace, "is not ready: its status.readyToUse is not true")
	snapshot.Object["status"] = map[string]any{"readyToUse": true}
	if _, err := snapshots.Update(t.Context(), snapshot, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "bound claim", getRestored(namespace), bound)
}

// A claim with another source is left to the populator of that kind.
func TestClaimWithAPopulator(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createRestored(t, namespace, &corev1.TypedObjectReference{APIGroup: new("example.com"), Kind: "Book", Name: "novel"})
	awaitPending(t, namespace, "Assuming an external populator will provision the volume")
	createClaim(t, namespace, "")
	awaitClaim(t, namespace, "later", bound)
	if claim, err := getRestored(namespace)(t.Context()); err != nil || claim.Spec.VolumeName != "" {
		t.Errorf("the claim has volume %q, error %v: want none", claim.Spec.VolumeName, err)
	}
}
