package aggregated

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A method that looks like a role's and is none is an error: nobody would find out why its verb is missing.
func TestAMethodThatIsNoRoleIsAnError(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for want, reader := range map[string]Reader[*corev1.ConfigMap]{
		"": &told{},
		"serve ConfigMap: the method Watch of *aggregated.otherwise is func(context.Context, string, func(*v1.ConfigMap)) error: want func(context.Context, string, aggregated.Listener[": &otherwise{},
		"serve ConfigMap: aggregated.byPointer has no method Delete, and *aggregated.byPointer has: give a pointer to it":                                                                 byPointer{},
	} {
		_, err := Kind(reader, Resource[*corev1.ConfigMap]{}).add(scheme)
		if got := errorText(err); !strings.HasPrefix(got, want) || (want == "") != (err == nil) {
			t.Errorf("%T: %q, want %q", reader, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type otherwise struct{ Reader[*corev1.ConfigMap] }

func (*otherwise) Watch(context.Context, string, func(*corev1.ConfigMap)) error { return nil }

type byPointer struct{ Reader[*corev1.ConfigMap] }

func (*byPointer) Delete(context.Context, *corev1.ConfigMap) error { return nil }
