package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
)

// Names with which volumes are requested and recognized.
const (
	StorageClass = "standard"              // the default StorageClass
	Provisioner  = "sim.operon.dev/volume" // the provisioner of that class
	volumeDriver = "sim.operon.dev"        // the CSI driver of volumes without contents, which does not exist

	provisionerAnnotation   = "volume.kubernetes.io/storage-provisioner"
	provisionedByAnnotation = "pv.kubernetes.io/provisioned-by"
	defaultClassAnnotation  = "storageclass.kubernetes.io/is-default-class"
)

// storageClass returns the class of claims that name none.
func storageClass() *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        StorageClass,
			Annotations: map[string]string{defaultClassAnnotation: "true"},
		},
		Provisioner:          Provisioner,
		ReclaimPolicy:        new(corev1.PersistentVolumeReclaimDelete),
		VolumeBindingMode:    new(storagev1.VolumeBindingImmediate),
		AllowVolumeExpansion: new(true),
	}
}

// csiDriver returns an object that informs the attach controller that volumes need not be attached.
func csiDriver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: volumeDriver},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: new(false)},
	}
}

// claims creates a volume for each claim that the volume controller assigns to Provisioner, and expands it with the claim. The
// volume controller binds the two.
type claims struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	folder   string   // for volumes with contents, or empty
	reported sync.Map // UID → the last event about the source of a claim
}

func (c *claims) handle(ctx context.Context, claim *corev1.PersistentVolumeClaim) (time.Duration, error) {
	if claim.Annotations[provisionerAnnotation] != Provisioner || claim.DeletionTimestamp != nil {
		return 0, nil
	}
	if claim.Spec.VolumeName == "" {
		return c.bind(ctx, claim)
	}
	requested := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if claim.Status.Phase == corev1.ClaimBound && requested.Cmp(claim.Status.Capacity[corev1.ResourceStorage]) > 0 {
		return 0, c.expand(ctx, claim, requested)
	}
	return 0, nil
}

// bind creates a volume for a claim, unless another program creates it. A claim that must wait is checked again.
func (c *claims) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) (time.Duration, error) {
	source := sourceOf(claim)
	if isPopulated(source) {
		c.report(claim, corev1.EventTypeNormal, "Provisioning", "Assuming an external populator will provision the volume")
		return 0, nil
	}
	unbound, err := c.unbound(ctx, claim)
	if err != nil || unbound {
		return timing.heldClaimPeriod, err
	}
	isBlock, attributes := ptr.Deref(claim.Spec.VolumeMode, "") == corev1.PersistentVolumeBlock, ptr.Deref(claim.Spec.VolumeAttributesClassName, "")
	if c.folder != "" && (isBlock || attributes != "" || source != nil) {
		c.report(claim, corev1.EventTypeWarning, "ProvisioningFailed",
			"a volume with contents is a directory: volumeMode Block, volumeAttributesClassName and dataSource are not supported")
		return 0, nil
	}
	missing, err := c.missing(ctx, source)
	if err != nil {
		return 0, err
	}
	if missing != "" {
		c.report(claim, corev1.EventTypeWarning, "ProvisioningFailed", missing)
		return timing.heldClaimPeriod, nil
	}
	return 0, c.provision(ctx, claim)
}

// unbound reports whether a claim must not get a volume, according to the annotation of the claim or of its namespace.
func (c *claims) unbound(ctx context.Context, claim *corev1.PersistentVolumeClaim) (bool, error) {
	if claim.Annotations[FailAnnotation] == FailUnbound {
		return true, nil
	}
	namespace, err := c.client.CoreV1().Namespaces().Get(ctx, claim.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("provision a volume: %w", err)
	}
	return namespace.Annotations[FailAnnotation] == FailUnbound, nil
}

func (c *claims) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim.Spec.StorageClassName == nil {
		return nil
	}
	class, err := c.client.StorageV1().StorageClasses().Get(ctx, *claim.Spec.StorageClassName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("provision a volume: %w", err)
	}
	volume := volumeFor(claim, class)
	if err := c.makeReal(volume); err != nil {
		return fmt.Errorf("provision a volume: %w", err)
	}
	_, err = c.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("provision a volume: %w", err)
	}
	return nil
}

// makeReal creates a directory for a volume. Any user in a container may write to it, but other users cannot access its parent
// directory. The kubelet does not create the directory: if it is missing, the contents are, too.
func (c *claims) makeReal(volume *corev1.PersistentVolume) error {
	if c.folder == "" {
		return nil
	}
	path := filepath.Join(c.folder, volume.Name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: path, Type: new(corev1.HostPathDirectory)},
	}
	volume.Spec.MountOptions = nil // the kubelet mounts no directory with options
	return os.Chmod(path, 0o777)
}

func volumeFor(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{provisionedByAnnotation: Provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:      claim.Spec.AccessModes,
			VolumeMode:       claim.Spec.VolumeMode,
			Capacity:         corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			StorageClassName: class.Name,
			MountOptions:     class.MountOptions,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: volumeDriver, VolumeHandle: string(claim.UID)},
			},
		},
	}
	if attributes := claim.Spec.VolumeAttributesClassName; ptr.Deref(attributes, "") != "" {
		volume.Spec.VolumeAttributesClassName = attributes
	}
	if class.ReclaimPolicy != nil {
		volume.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	return volume
}

// expand expands the volume of a claim, and then records the new size in the claim's status.
func (c *claims) expand(ctx context.Context, claim *corev1.PersistentVolumeClaim, size resource.Quantity) error {
	patch := fmt.Appendf(nil, `{"spec":{"capacity":{"storage":%q}}}`, size.String())
	_, err := c.client.CoreV1().PersistentVolumes().Patch(ctx, claim.Spec.VolumeName, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("expand volume %s: %w", claim.Spec.VolumeName, err)
	}
	patch = fmt.Appendf(nil, `{"status":{"capacity":{"storage":%q},"conditions":null}}`, size.String())
	_, err = c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if outdated(err) {
		return nil
	}
	return err
}

// volumes removes volumes that were created by claims and whose claims were deleted, and the directories of removed volumes,
// unless they must be retained.
type volumes struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	folder   string // of the directories, or empty
	contents bool   // of new volumes
	feed     *feed[*corev1.PersistentVolume]
	known    map[string]*corev1.PersistentVolume // of which one that is missing in a list was removed
}

func (v *volumes) handle(ctx context.Context, volume *corev1.PersistentVolume) (time.Duration, error) {
	ours := volume.Annotations[provisionedByAnnotation] == Provisioner
	if ours && v.contents && volume.Spec.CSI != nil && volume.Status.Phase == corev1.VolumeBound {
		v.recorder.Event(volume.Spec.ClaimRef, corev1.EventTypeWarning, "VolumeWithoutContents",
			"The volume was created without a container node, and containers cannot mount it: delete the claim and create it again")
	}
	if !ours || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return 0, nil
	}
	if isRemoved(volume) {
		return 0, v.removeReal(volume)
	}
	if volume.Status.Phase != corev1.VolumeReleased || volume.DeletionTimestamp != nil {
		return 0, nil
	}
	err := v.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &volume.UID, ResourceVersion: &volume.ResourceVersion},
	})
	if outdated(err) {
		return 0, nil
	}
	return 0, err
}

// isRemoved reports whether gone has marked the volume. The API server never shows such an object.
func isRemoved(volume *corev1.PersistentVolume) bool {
	return volume.DeletionTimestamp != nil && len(volume.Finalizers) == 0
}

// removeReal removes the directory of a volume. It fails, and is retried, while containers write to the directory.
func (v *volumes) removeReal(volume *corev1.PersistentVolume) error {
	if v.folder == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(v.folder, volume.Name))
}

func (v *volumes) seen(volume *corev1.PersistentVolume) {
	if v.folder != "" {
		v.known[volume.Name] = volume
	}
}

// gone enqueues the removal of the directory. A volume is not always removed by handle: users and resets do so, too.
func (v *volumes) gone(volume *corev1.PersistentVolume) {
	delete(v.known, volume.Name)
	removed := volume.DeepCopy()
	removed.DeletionTimestamp, removed.Finalizers = new(metav1.Now()), nil
	v.feed.offer(removed)
}

// only does not remove other directories without a volume: they may be retained.
func (v *volumes) only(list []*corev1.PersistentVolume) {
	missing := v.known
	v.known = map[string]*corev1.PersistentVolume{}
	for _, volume := range list {
		delete(missing, volume.Name)
		v.seen(volume)
	}
	for _, volume := range missing {
		v.gone(volume)
	}
}
