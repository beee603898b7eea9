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

// newClass creates a StorageClass for the test, and returns its name.
func newClass(t *testing.T, class storagev1.StorageClass) string {
	t.Helper()
	classes := plane.client.StorageV1().StorageClasses()
	class.GenerateName = "own-"
	created, err := classes.Create(t.Context(), &class, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := classes.Delete(context.Background(), created.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return created.Name
}

func awaitRemoved(t *testing.T, path string) {
	t.Helper()
	await(t, "absence of the directory", func(context.Context) (error, error) {
		_, err := os.Stat(path)
		return err, nil
	}, func(err error) bool { return errors.Is(err, fs.ErrNotExist) })
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
	createClaim(t, namespace, newClass(t, storagev1.StorageClass{
		Provisioner:       sim.Provisioner,
		ReclaimPolicy:     new(corev1.PersistentVolumeReclaimRetain),
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}))
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
	config.Volumes, config.Contents = t.TempDir(), true
	defer start(t, config)()
	volumes := plane.client.CoreV1().PersistentVolumes()
	keep := newClass(t, storagev1.StorageClass{Provisioner: sim.Provisioner, ReclaimPolicy: new(corev1.PersistentVolumeReclaimRetain)})
	var paths []string
	for _, name := range []string{keep, ""} {
		namespace := newNamespace(t)
		createClaim(t, namespace, name)
		volume := awaitClaim(t, namespace, "bound", bound).Spec.VolumeName
		path := filepath.Join(config.Volumes, volume)
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		if err := volumes.Delete(t.Context(), volume, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		deleteClaim(t, namespace)
		awaitGone(t, "volume", getVolume(volume))
		paths = append(paths, path)
	}
	awaitRemoved(t, paths[1])
	if _, err := os.Stat(paths[0]); err != nil {
		t.Errorf("the directory of a retained volume: %v", err)
	}
}

// Volumes with contents are directories: a claim that needs more stays Pending, with an event. A later cluster without contents
// removes the directories, too, and the one after that reports its volumes. The test is not parallel because it has its own simulations.
func TestVolumesWithContents(t *testing.T) {
	config := plane.config
	config.Volumes, config.Contents = t.TempDir(), true
	stop := start(t, config)
	defer func() { stop() }()
	namespace := newNamespace(t)
	createClaim(t, namespace, newClass(t, storagev1.StorageClass{Provisioner: sim.Provisioner, MountOptions: []string{"noatime"}}))
	volume, err := getVolume(awaitClaim(t, namespace, "bound", bound).Spec.VolumeName)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	directory := volume.Spec.HostPath
	if directory == nil || directory.Type == nil || *directory.Type != corev1.HostPathDirectory || len(volume.Spec.MountOptions) > 0 {
		t.Errorf("the volume has source %s and mount options %v", asYAML(directory), volume.Spec.MountOptions)
	}
	for _, change := range []func(*corev1.PersistentVolumeClaimSpec){
		func(spec *corev1.PersistentVolumeClaimSpec) { spec.VolumeMode = new(corev1.PersistentVolumeBlock) },
		func(spec *corev1.PersistentVolumeClaimSpec) { spec.VolumeAttributesClassName = new("gold") },
		func(spec *corev1.PersistentVolumeClaimSpec) {
			spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "data"}
		},
	} {
		other := newNamespace(t)
		createChanged(t, other, change)
		awaitPending(t, other, "are not supported")
	}
	stop()
	config.Contents = false
	stop = start(t, config)
	deleteClaim(t, namespace)
	awaitRemoved(t, directory.Path)
	createClaim(t, namespace, "")
	awaitClaim(t, namespace, "bound", bound)
	stop()
	config.Contents = true
	stop = start(t, config)
	awaitEvent(t, namespace, "data", "VolumeWithoutContents")
}

// A volume has the attributes class of its claim. Otherwise, the volume controller would not bind the two.
func TestClaimWithAnAttributesClass(t *testing.T) {
	t.Parallel()
	simulate(t)
	namespace := newNamespace(t)
	createChanged(t, namespace, func(spec *corev1.PersistentVolumeClaimSpec) { spec.VolumeAttributesClassName = new("gold") })
	claim := await(t, "bound claim", getRestored(namespace), bound)
	if class := claim.Status.CurrentVolumeAttributesClassName; class == nil || *class != "gold" {
		t.Errorf("status: %s", asYAML(claim.Status))
	}
}
