package reconcile

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operon-framework/operon/internal/core/plan"
	"github.com/operon-framework/operon/internal/runtime/apply"
)

func TestObjectsOfOtherNamespacesAreChildrenOnlyIfKnown(t *testing.T) {
	t.Parallel()
	declared := &unstructured.Unstructured{}
	declared.SetNamespace("declared")
	family := &apply.Family{}
	family.Saw(&plan.Live{Namespace: "seen", Name: "a"})
	var labeled []*plan.Live
	for _, namespace := range []string{"own", "", "declared", "seen", "listed", "list", "planted"} {
		labeled = append(labeled, &plan.Live{Namespace: namespace})
	}
	for name, test := range map[string]struct {
		namespace   string
		want, known []string
	}{
		"of a namespace": {"own", []string{"own", "", "declared", "seen", "listed"}, []string{"declared", "seen", "listed"}},
		"cluster-scoped": {"", []string{"own", "", "declared", "seen", "listed", "list", "planted"}, nil},
	} {
		r := &reader{family: family, desired: []*unstructured.Unstructured{declared}, owner: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: test.namespace, Annotations: map[string]string{plan.NamespacesAnnotation: "other,listed"},
		}}}
		own, known := r.own(labeled, r.elsewhere())
		var got []string
		for _, live := range own {
			got = append(got, live.Namespace)
		}
		if !slices.Equal(got, test.want) || !slices.Equal(known, test.known) {
			t.Errorf("%s: children in %q, known %q", name, got, known)
		}
	}
}
