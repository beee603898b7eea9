package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operon-framework/operon/cluster/internal/sim"
)

// createClaim creates a claim for 1Gi of the class. The empty string means the default class.
func createClaim(t *testing.T, namespace, class string) {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
	if class != "" {
		claim.Spec.StorageClassName = &class
	}
	_, err := plane.client.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), claim, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func awaitClaim(t *testing.T, namespace, what string, want func(*corev1.PersistentVolumeClaim) bool) *corev1.PersistentVolumeClaim {
	t.Helper()
	return await(t, what+" claim", func(ctx context.Context) (*corev1.PersistentVolumeClaim, error) {
		return plane.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, "data", metav1.GetOptions{})
	}, want)
}

func bound(claim *corev1.PersistentVolumeClaim) bool { return claim.Status.Phase == corev1.ClaimBound }

func getVolume(name string) func(context.Context) (*corev1.PersistentVolume, error) {
	return func(ctx context.Context) (*corev1.PersistentVolume, error) {
		return plane.client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	}
}

func deleteClaim(t *testing.T, namespace string) {
	t.Helper()
	if err := plane.client.CoreV1().PersistentVolumeClaims(namespace).Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestClaimIsBoundThroughTheDefaultClass(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createClaim(t, namespace, "")
	claim := awaitClaim(t, namespace, "bound", bound)
	if *claim.Spec.StorageClassName != sim.StorageClass || claim.Status.Capacity.Storage().String() != "1Gi" {
		t.Errorf("class %s, capacity %v", *claim.Spec.StorageClassName, claim.Status.Capacity)
	}
	deleteClaim(t, namespace)
	awaitGone(t, "volume", getVolume(claim.Spec.VolumeName))
}

// Claims remain unbound as long as an annotation on them or their namespace requests it.
func TestClaimIsHeld(t *testing.T) {
	t.Parallel()
	simulate(t)
	held, other := newNamespace(t), newNamespace(t)
	fail := func(value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, sim.FailAnnotation, value)
		if _, err := plane.client.CoreV1().Namespaces().Patch(t.Context(), held, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	fail(`"unbound"`)
	createClaim(t, held, "")
	createClaim(t, other, "")
	awaitClaim(t, held, "handed over", func(claim *corev1.PersistentVolumeClaim) bool {
		return claim.Annotations["volume.kubernetes.io/storage-provisioner"] == sim.Provisioner
	})
	awaitClaim(t, other, "bound", bound)
	claim := awaitClaim(t, held, "held", func(*corev1.PersistentVolumeClaim) bool { return true })
	if claim.Status.Phase != corev1.ClaimPending {
		t.Errorf("it is %s", claim.Status.Phase)
	}
	fail(`null`)
	awaitClaim(t, held, "bound", bound)
}

func TestClaimGrows(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createClaim(t, namespace, "")
	awaitClaim(t, namespace, "bound", bound)
	_, err := plane.client.CoreV1().PersistentVolumeClaims(namespace).Patch(t.Context(), "data", types.MergePatchType,
		[]byte(`{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim := awaitClaim(t, namespace, "grown", func(claim *corev1.PersistentVolumeClaim) bool {
		return claim.Status.Capacity.Storage().String() == "3Gi"
	})
	volume, err := getVolume(claim.Spec.VolumeName)(t.Context())
	if err != nil || volume.Spec.Capacity.Storage().String() != "3Gi" {
		t.Errorf("volume of %v, error %v: want 3Gi", volume.Spec.Capacity, err)
	}
}

// With a user's own class and our provisioner, a claim is bound when a pod is scheduled, and the volume is retained when the
// claim is deleted.
func TestClassOfOnesOwn(t *testing.T) {
	t.Parallel()
	client := simulate(t)
	namespace := newNamespace(t)
	class, err := client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{GenerateName: "keep-"},
		Provisioner:       sim.Provisioner,
		ReclaimPolicy:     new(corev1.PersistentVolumeReclaimRetain),
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.StorageV1().StorageClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	createClaim(t, namespace, class.Name)
	spec := podSpec()
	spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	createPod(t, namespace, nil, spec)
	awaitPod(t, namespace, "ready", ready)
	claim := awaitClaim(t, namespace, "bound", bound)
	if err := client.CoreV1().Pods(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleteClaim(t, namespace)
	await(t, "released volume", getVolume(claim.Spec.VolumeName), func(volume *corev1.PersistentVolume) bool {
		return volume.Status.Phase == corev1.VolumeReleased && volume.DeletionTimestamp == nil
	})
	if err := client.CoreV1().PersistentVolumes().Delete(t.Context(), claim.Spec.VolumeName, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// The directory of a volume is removed with it, even if a user deletes the volume before its claim. It is retained if the class
// says so. The test is not parallel because it has its own simulation.
func TestDirectoriesOfVolumes(t *testing.T) {
	config := plane.config
	config.Volumes = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := sim.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Wait()
	defer cancel()
	classes, volumes := plane.client.StorageV1().StorageClasses(), plane.client.CoreV1().PersistentVolumes()
	class, err := classes.Create(ctx, &storagev1.StorageClass{
		ObjectMeta:    metav1.ObjectMeta{GenerateName: "keep-"},
		Provisioner:   sim.Provisioner,
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimRetain),
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := classes.Delete(context.Background(), class.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	var paths []string
	for _, name := range []string{class.Name, ""} {
		namespace := newNamespace(t)
		createClaim(t, namespace, name)
		volume := awaitClaim(t, namespace, "bound", bound).Spec.VolumeName
		path := filepath.Join(config.Volumes, volume)
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		if err := volumes.Delete(ctx, volume, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		deleteClaim(t, namespace)
		awaitGone(t, "volume", getVolume(volume))
		paths = append(paths, path)
	}
	await(t, "absence of the directory", func(context.Context) (error, error) {
		_, err := os.Stat(paths[1])
		return err, nil
	}, func(err error) bool { return errors.Is(err, fs.ErrNotExist) })
	if _, err := os.Stat(paths[0]); err != nil {
		t.Errorf("the directory of a retained volume: %v", err)
	}
}
