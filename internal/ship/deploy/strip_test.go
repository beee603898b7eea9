package deploy

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/tools/up"
	"github.com/operon-framework/operon/local/localtest"
)

// meanwhile is a connection on which something is done once, before the first write.
func meanwhile(config *rest.Config, do func()) *rest.Config {
	config, once := rest.CopyConfig(config), sync.OnceFunc(do)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPatch {
				once()
			}
			return next.RoundTrip(request)
		})
	})
	return config
}

// Somebody else changes an object after it was looked at, and before its finalizers are taken off: those are that it has by then,
// and it has to be the same object.
func TestFinalizersOfWhatOthersChange(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	objects := kubernetes.NewForConfigOrDie(env.Config).CoreV1().ConfigMaps(env.Namespace)
	for name, test := range map[string]struct {
		change func(t *testing.T, name string)
		// given are the finalizers that were taken off, left those that are there.
		given, left []string
	}{
		"unchanged": {func(*testing.T, string) {}, []string{"example.com/a"}, nil},
		"another-finalizer": {func(t *testing.T, name string) { finalize(t, objects, name, `["example.com/a", "example.com/b"]`) },
			[]string{"example.com/a", "example.com/b"}, nil},
		"removed": {func(t *testing.T, name string) { remove(t, objects, name) }, nil, nil},
		"replaced": {func(t *testing.T, name string) {
			remove(t, objects, name)
			hold(t, objects, name)
		}, nil, []string{"example.com/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold(t, objects, name)
			c, err := connect(t.Context(), up.Where{Kubeconfig: env.Kubeconfig})
			if err != nil {
				t.Fatal(err)
			}
			stored, err := c.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(env.Namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c.Dynamic = dynamic.NewForConfigOrDie(meanwhile(env.Config, func() { test.change(t, name) }))
			given, err := (&undeployer{cluster: c}).strip(t.Context(), stored)
			if err != nil || !slices.Equal(given, test.given) {
				t.Errorf("given up were %q, %v", given, err)
			}
			now, err := objects.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) || !slices.Equal(now.Finalizers, test.left) {
				t.Errorf("left are %q, %v", now.Finalizers, err)
			}
		})
	}
}

// hold makes an object that a finalizer holds as long as the test goes on.
func hold(t *testing.T, objects corev1client.ConfigMapInterface, name string) {
	t.Helper()
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"example.com/a"}}}
	if _, err := objects.Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { finalize(t, objects, name, "null") })
}

// finalize gives an object that is there these finalizers.
func finalize(t *testing.T, objects corev1client.ConfigMapInterface, name, finalizers string) {
	t.Helper()
	_, err := objects.Patch(context.WithoutCancel(t.Context()), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

func remove(t *testing.T, objects corev1client.ConfigMapInterface, name string) {
	t.Helper()
	finalize(t, objects, name, "null")
	if err := objects.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
