package prove

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/prove/report"
	"github.com/operon-framework/operon/internal/prove/requestlog"
	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/prove/testdata/gallery/operators"
)

// definition returns a definition that no other test uses.
func definition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "guests.kept.operon.dev"},
		"spec": map[string]any{
			"group": "kept.operon.dev", "scope": "Namespaced",
			"names": map[string]any{"kind": "Guest", "plural": "guests"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
}

// roundTripper implements http.RoundTripper with a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// lossy returns a connection that loses the first response to each request, except lists and watches, which reflectors repeat.
func lossy(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	var seen sync.Map
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			verb := requestlog.Of(r).Verb
			if _, again := seen.LoadOrStore(verb+r.URL.Path, true); again || err != nil || verb == "list" || verb == "watch" {
				return response, err
			}
			_ = response.Body.Close()
			return nil, errors.New("the connection is lost")
		})
	})
	return config
}

// A cluster that is kept keeps the definitions that it had before, and no others, also if responses are lost.
func TestDefinitionsOfAKeptCluster(t *testing.T) {
	t.Parallel()
	config, stop, err := StartCluster(t.Context(), t.Output()) // not shared: removing a kind would disturb other watchers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	options := Options{CRDs: []*unstructured.Unstructured{definition()}, Config: lossy(config)}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		found, err := client.Resource(kube.CRDs).Get(t.Context(), definition().GetName(), metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil && found.GetDeletionTimestamp() == nil
	}
	first, second := &session{Options: options}, &session{Options: options}
	for _, err := range []error{first.open(t.Context()), second.install(t.Context()), second.uninstall(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !there() {
		t.Error("one that was there is removed")
	}
	if err := first.close(t.Context()); err != nil || there() {
		t.Errorf("one that was not there stays, %v", err)
	}
}

// The report of an interrupted session contains everything that was known until then.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	at := slices.IndexFunc(operators.All(), func(o operators.Operator) bool { return o.Name == "ok-app" })
	options, err := galleryTest(operators.All()[at]).options(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	testCluster.join(t, &options)
	ctx, cancel := context.WithCancel(t.Context())
	options.Observe = func(now report.Standing) {
		if now.Done > 0 {
			cancel()
		}
	}
	found, err := Prove(ctx, options)
	if !errors.Is(err, context.Canceled) || found == nil {
		t.Fatalf("%+v, %v", found, err)
	}
	if !found.Interrupted || len(found.Runs) == 0 || found.Plans.Planned <= len(found.Runs) {
		t.Errorf("interrupted %v, %d of %d plans", found.Interrupted, len(found.Runs), found.Plans.Planned)
	}
}
