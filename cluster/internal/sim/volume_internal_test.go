package sim

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The directory of a volume is removed even if the deletion of the volume was not watched. Directories of unknown volumes are
// kept: they may belong to volumes that were retained.
func TestDirectoryOfAMissedVolume(t *testing.T) {
	t.Parallel()
	v := &volumes{folder: t.TempDir(), known: map[string]*corev1.PersistentVolume{}}
	v.feed = newFeed(nil, v, 1, slog.New(slog.DiscardHandler))
	volume := func(name string, policy corev1.PersistentVolumeReclaimPolicy) any {
		if err := os.Mkdir(filepath.Join(v.folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
		return &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedByAnnotation: Provisioner}, Finalizers: []string{"a.b/c"}},
			Spec:       corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: policy},
		}
	}
	volume("unknown", corev1.PersistentVolumeReclaimDelete)
	list := []any{
		volume("here", corev1.PersistentVolumeReclaimDelete),
		volume("missed", corev1.PersistentVolumeReclaimDelete),
		volume("retained", corev1.PersistentVolumeReclaimRetain),
	}
	for _, found := range [][]any{list, list[:1]} {
		if err := v.feed.Replace(found, ""); err != nil {
			t.Fatal(err)
		}
	}
	for range list {
		v.feed.work(t.Context())
	}
	for name, want := range map[string]bool{"unknown": true, "here": true, "missed": false, "retained": true} {
		if _, err := os.Stat(filepath.Join(v.folder, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
