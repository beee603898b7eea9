package removal_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
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

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/removal"
	"github.com/operon-framework/operon/local/localtest"
)

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// refusing returns a connection on which requests for objects with a name are forbidden.
func refusing(config *rest.Config, name string) dynamic.Interface {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(request.URL.Path, name) {
				return next.RoundTrip(request)
			}
			return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Header: http.Header{}, Request: request}, nil
		})
	})
	return dynamic.NewForConfigOrDie(config)
}

// meanwhile returns a connection that calls do once, before the first write.
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

// If another client changes an object after it was read and before its finalizers are stripped, the object's finalizers at
// that time are stripped, and only if it is the same object.
func TestFinalizersOfWhatOthersChange(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	objects := kubernetes.NewForConfigOrDie(env.Config).CoreV1().ConfigMaps(env.Namespace)
	for name, test := range map[string]struct {
		change func(t *testing.T, name string)
		// given are the finalizers that were stripped, and left those that remain.
		given, left []string
	}{
		"unchanged": {func(*testing.T, string) {}, []string{"example.com/a"}, nil},
		"another-finalizer": {func(t *testing.T, name string) { finalize(t, objects, name, `["example.com/a", "example.com/b"]`) },
			[]string{"example.com/a", "example.com/b"}, nil},
		"removed": {func(t *testing.T, name string) { remove(t, objects, name) }, nil, nil},
		"replaced": {func(t *testing.T, name string) {
			remove(t, objects, name)
			hold(t, objects, name, "example.com/a")
		}, nil, []string{"example.com/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold(t, objects, name, "example.com/a")
			client, err := kube.New(env.Config, "removal-test")
			if err != nil {
				t.Fatal(err)
			}
			stored, err := client.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(env.Namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			client.Dynamic = dynamic.NewForConfigOrDie(meanwhile(env.Config, func() { test.change(t, name) }))
			given, err := removal.Strip(t.Context(), client, stored)
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

// hold creates an object with finalizers that block its deletion until the test ends.
func hold(t *testing.T, objects corev1client.ConfigMapInterface, name string, finalizers ...string) {
	t.Helper()
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
	if _, err := objects.Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { finalize(t, objects, name, "null") })
}

// finalize sets the finalizers of an existing object.
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
