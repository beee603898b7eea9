package aggregated

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A client that deletes a collection receives the first error as its role returned it, with the messages of all.
func TestACollectionThatIsKept(t *testing.T) {
	t.Parallel()
	r := &told{list: func() []*corev1.ConfigMap {
		return []*corev1.ConfigMap{configMap("a", "1"), configMap("b", "1"), configMap("c", "1")}
	}}
	shared := common[*corev1.ConfigMap]{kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), group: configMaps, list: &corev1.ConfigMapList{}}
	for _, test := range []struct {
		refuses keeping
		is      func(error) bool
		texts   []string
	}{
		{keeping{}, func(err error) bool { return err == nil }, nil},
		{keeping{"a": ErrNotFound}, func(err error) bool { return err == nil }, nil},
		{keeping{"b": apierrors.NewForbidden(configMaps, "b", errors.New("it is mine"))}, isForbidden, []string{"it is mine"}},
		{keeping{"a": apierrors.NewForbidden(configMaps, "a", errors.New("it is mine")), "c": ErrConflict}, isForbidden, []string{"it is mine", "changed meanwhile"}},
		{keeping{"a": errors.New("no line")}, isInternal, []string{"no line"}},
	} {
		d := &deleting[*corev1.ConfigMap]{of: &reading[*corev1.ConfigMap]{shared, r}, deleter: test.refuses}
		_, err := d.DeleteCollection(t.Context(), nil, &metav1.DeleteOptions{}, nil)
		if !test.is(err) {
			t.Errorf("%v: error %v", test.refuses, err)
		}
		for _, text := range test.texts {
			if !strings.Contains(errorText(err), text) {
				t.Errorf("%v: error %v, want one with %q", test.refuses, err, text)
			}
		}
	}
}

var configMaps = schema.GroupResource{Resource: "configmaps"}

// isForbidden and isInternal look at the error itself, as the library does, and not at those in it.
func isForbidden(err error) bool { return reasonOf(err) == metav1.StatusReasonForbidden }
func isInternal(err error) bool  { return reasonOf(err) == metav1.StatusReasonInternalError }

func reasonOf(err error) metav1.StatusReason {
	status, ok := err.(apierrors.APIStatus) //nolint:errorlint // as the library does
	if !ok {
		return metav1.StatusReasonUnknown
	}
	return status.Status().Reason
}

// keeping refuses to delete objects, by their names.
type keeping map[string]error

func (k keeping) Delete(_ context.Context, object *corev1.ConfigMap) error { return k[object.Name] }
