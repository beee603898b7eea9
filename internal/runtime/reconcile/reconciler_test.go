package reconcile

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A watch that was interrupted may deliver an object and the one that replaced it as one change.
func TestAnotherObjectOfTheNameIsNews(t *testing.T) {
	t.Parallel()
	before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", Generation: 1}}
	after := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "2", Generation: 1}}
	if !changed(before, after) {
		t.Error("it was taken for the same object")
	}
}
