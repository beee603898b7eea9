package reconcile

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestWhatOfAStatusIsNews(t *testing.T) {
	t.Parallel()
	key := types.NamespacedName{Name: "a"}
	tests := []struct {
		name string
		// meanwhile is what the watch reports before the answer, which is 12. What was read is 10.
		meanwhile []string
		want      bool
	}{
		{"nothing yet", nil, false},
		{"the answer", []string{"12"}, false},
		{"somebody's write", []string{"11"}, true},
		{"somebody's write and then the answer", []string{"11", "12"}, true},
		{"the answer and then somebody's write", []string{"12", "13"}, true},
		{"what was read, and what came before that", []string{"9", "10", "12"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var o own
			o.begin(key, "10")
			for _, version := range test.meanwhile {
				if !o.is(reportedAs(version)) {
					t.Errorf("%s was told while the write was under way", version)
				}
			}
			if got := o.end(key, "12"); got != test.want {
				t.Errorf("news is %v, want %v", got, test.want)
			}
		})
	}
}

func reportedAs(version string) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}}
}

// A watch that was interrupted may show an object and the one that took its place as one change.
func TestAnotherObjectOfTheNameIsNews(t *testing.T) {
	t.Parallel()
	before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", Generation: 1}}
	after := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "2", Generation: 1}}
	if !changed(before, after) {
		t.Error("it was taken for the same object")
	}
}
