package reconcile

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon/external"
	"github.com/operon-framework/operon/internal/runtime/freshness"
)

// A watch that was interrupted may deliver an object and the one that replaced it as one change.
func TestWhatAnEventChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		edit func(*metav1.PartialObjectMetadata)
		want freshness.Part
	}{
		"nothing that is compared": {func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = "2" }, freshness.Status},
		"an own finalizer":         {func(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{"other", CleanupFinalizer} }, freshness.Metadata},
		"the record": {func(o *metav1.PartialObjectMetadata) {
			o.Annotations = map[string]string{external.RecordAnnotation: "{}"}
		}, freshness.Metadata},
		"the finalizer of another":    {func(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{CleanupFinalizer} }, freshness.More},
		"an annotation":               {func(o *metav1.PartialObjectMetadata) { o.Annotations = map[string]string{"a": "b"} }, freshness.More},
		"a label":                     {func(o *metav1.PartialObjectMetadata) { o.Labels = map[string]string{"a": "b"} }, freshness.More},
		"the spec":                    {func(o *metav1.PartialObjectMetadata) { o.Generation++ }, freshness.More},
		"the deletion":                {func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = &metav1.Time{} }, freshness.More},
		"another object of this name": {func(o *metav1.PartialObjectMetadata) { o.UID = "2" }, freshness.More},
	} {
		before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", Generation: 1, Finalizers: []string{"other"}}}
		after := before.DeepCopy()
		test.edit(after)
		if got := changed(before, after); got != test.want {
			t.Errorf("%s: the part is %d, want %d", name, got, test.want)
		}
	}
	before, after := &corev1.Pod{}, &corev1.Pod{}
	after.Status.Phase = corev1.PodRunning
	if got := changed(before, after); got != freshness.Status {
		t.Errorf("a status: the part is %d", got)
	}
	after.Finalizers = []string{CleanupFinalizer}
	if got := changed(before, after); got != freshness.More {
		t.Errorf("a status and an own finalizer: the part is %d", got)
	}
}
