package sim

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Sources of the contents of a volume that a provisioner reads. A volume with any other source is created by the populator of
// that kind.
const (
	claimKind     = "PersistentVolumeClaim"
	snapshotKind  = "VolumeSnapshot"
	snapshotGroup = "snapshot.storage.k8s.io"
)

// sourceOf returns the source of a claim's contents in the namespace of the claim or in another one, or nil.
func sourceOf(claim *corev1.PersistentVolumeClaim) *corev1.TypedObjectReference {
	source := claim.Spec.DataSourceRef.DeepCopy()
	if old := claim.Spec.DataSource; source == nil && old != nil {
		source = &corev1.TypedObjectReference{APIGroup: old.APIGroup, Kind: old.Kind, Name: old.Name}
	}
	if source != nil && source.Namespace == nil {
		source.Namespace = &claim.Namespace
	}
	return source
}

// isPopulated reports whether a populator creates the volume of a claim with this source.
func isPopulated(source *corev1.TypedObjectReference) bool {
	if source == nil {
		return false
	}
	group := ptr.Deref(source.APIGroup, "")
	return (group != "" || source.Kind != claimKind) && (group != snapshotGroup || source.Kind != snapshotKind)
}

// missing returns why no volume can be created from the source yet, or the empty string.
func (c *claims) missing(ctx context.Context, source *corev1.TypedObjectReference) (string, error) {
	if source == nil {
		return "", nil
	}
	ready, err := c.sourceReady(ctx, source)
	name := fmt.Sprintf("%s %s/%s", source.Kind, *source.Namespace, source.Name)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("the source of the volume, %s, does not exist", name), nil
	case err != nil:
		return "", fmt.Errorf("read the source of a volume, %s: %w", name, err)
	case !ready && source.Kind == claimKind:
		return fmt.Sprintf("the source of the volume, %s, is not bound", name), nil
	case !ready:
		return fmt.Sprintf("the source of the volume, %s, is not ready: its status.readyToUse is not true", name), nil
	}
	return "", nil
}

// sourceReady returns a not-found error if the source does not exist, or if the cluster does not have its kind.
func (c *claims) sourceReady(ctx context.Context, source *corev1.TypedObjectReference) (bool, error) {
	if source.Kind == claimKind {
		claim, err := c.client.CoreV1().PersistentVolumeClaims(*source.Namespace).Get(ctx, source.Name, metav1.GetOptions{})
		return err == nil && claim.Status.Phase == corev1.ClaimBound, err
	}
	data, err := c.client.Discovery().RESTClient().Get().SetHeader("Accept", "application/json").
		AbsPath("/apis", snapshotGroup, "v1", "namespaces", *source.Namespace, "volumesnapshots", source.Name).DoRaw(ctx)
	if err != nil {
		return false, err
	}
	var snapshot struct {
		Status struct{ ReadyToUse bool }
	}
	err = json.Unmarshal(data, &snapshot)
	return snapshot.Status.ReadyToUse, err
}

// report records an event about a claim, unless it is the last one.
func (c *claims) report(claim *corev1.PersistentVolumeClaim, kind, reason, message string) {
	if last, reported := c.reported.Swap(claim.UID, message); !reported || last != message {
		c.recorder.Event(claim, kind, reason, message)
	}
}

func (c *claims) seen(*corev1.PersistentVolumeClaim) {}

func (c *claims) gone(claim *corev1.PersistentVolumeClaim) { c.reported.Delete(claim.UID) }

// only forgets the reported events: some claims may be gone.
func (c *claims) only([]*corev1.PersistentVolumeClaim) { c.reported.Clear() }
