package resourceclient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/operon-framework/operon/internal/core/readiness"
	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/local/localtest"
)

var (
	configMaps  = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	deployments = appsv1.SchemeGroupVersion.WithKind("Deployment")
	unknown     = schema.GroupVersionKind{Group: "nowhere.example.com", Version: "v1", Kind: "Nothing"}
)

func newWire(t *testing.T) (*resourceclient.Wire, string) {
	t.Helper()
	env := localtest.Shared(t)
	client, err := rest.HTTPClientFor(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(env.Config, client)
	if err != nil {
		t.Fatal(err)
	}
	w, err := resourceclient.New(resourceclient.Config{REST: env.Config, HTTP: client, Mapper: mapper, Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return w, env.Namespace
}

// Each form applies, reads, lists and watches the same object, and its example has the form's type.
func TestForms(t *testing.T) {
	t.Parallel()
	w, namespace := newWire(t)
	for form, example := range map[resourceclient.Form]runtime.Object{
		resourceclient.Metadata: &metav1.PartialObjectMetadata{}, resourceclient.Typed: &corev1.ConfigMap{}, resourceclient.Loose: &unstructured.Unstructured{},
	} {
		t.Run(string(form), func(t *testing.T) {
			t.Parallel()
			endpoint, err := w.Endpoint(configMaps, form)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprintf("%T", endpoint.Example()), fmt.Sprintf("%T", example); got != want {
				t.Errorf("the example is %s, want %s", got, want)
			}
			name := "form-" + string(form)
			apply(t, endpoint, namespace, name, map[string]string{"a": "b"})
			got, err := endpoint.Get(t.Context(), namespace, name)
			if err != nil {
				t.Fatal(err)
			}
			list, err := endpoint.List(t.Context(), namespace, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
			if err != nil || meta.LenList(list) != 1 {
				t.Fatalf("list: %v, %v", list, err)
			}
			watched, err := endpoint.Watch(t.Context(), namespace, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: version(t, got)})
			if err != nil {
				t.Fatal(err)
			}
			defer watched.Stop()
			changed := apply(t, endpoint, namespace, name, map[string]string{"a": "c"})
			event := localtest.Receive(t, "the change", watched.ResultChan())
			if version(t, event.Object) != version(t, changed) {
				t.Errorf("the watch shows %s, the answer was %s", version(t, event.Object), version(t, changed))
			}
			before, after := resourceclient.Revision(version(t, got)), resourceclient.Revision(version(t, changed))
			if before == 0 || after <= before {
				t.Errorf("the resource version went from %d to %d", before, after)
			}
		})
	}
}

func version(t *testing.T, object runtime.Object) string {
	t.Helper()
	found, err := meta.Accessor(object)
	if err != nil {
		t.Fatal(err)
	}
	return found.GetResourceVersion()
}

func apply(t *testing.T, endpoint resourceclient.Endpoint, namespace, name string, data map[string]string) runtime.Object {
	t.Helper()
	body, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := endpoint.Apply(t.Context(), namespace, name, body, metav1.PatchOptions{FieldManager: "wire-test"})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// Kinds that the cluster or the scheme lacks result in errors that report this.
func TestMissingKinds(t *testing.T) {
	t.Parallel()
	w, _ := newWire(t)
	_, err := w.Endpoint(unknown, resourceclient.Loose)
	var missing *resourceclient.MissingKindError
	if !errors.As(err, &missing) || missing.Kind != unknown || missing.Error() != "the cluster has no kind Nothing in nowhere.example.com/v1; is its CRD installed?" {
		t.Errorf("error %v", err)
	}
	crds := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	if _, err := w.Endpoint(crds, resourceclient.Typed); !runtime.IsNotRegisteredError(err) {
		t.Errorf("error %v", err)
	}
	for kind, namespaced := range map[schema.GroupVersionKind]bool{configMaps: true, crds: false, unknown: false} {
		if w.Namespaced(kind) != namespaced {
			t.Errorf("%s is namespaced: %t", kind.Kind, !namespaced)
		}
	}
}

func TestServed(t *testing.T) {
	t.Parallel()
	w, _ := newWire(t)
	for kind, want := range map[schema.GroupKind][]schema.GroupVersionKind{
		configMaps.GroupKind(): {configMaps},
		unknown.GroupKind():    nil,
		{Kind: "Nothing"}:      nil,
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {
			{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}, {Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"},
		},
		{Group: "autoscaling", Kind: "Scale"}: nil, // only subresources are of this kind
	} {
		if got, err := w.Served(t.Context(), kind); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, error %v; want %v", kind, got, err, want)
		}
	}
}

// For a child, only what is retained of it is requested.
func TestChildren(t *testing.T) {
	t.Parallel()
	w, namespace := newWire(t)
	custom := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	for child, want := range map[resourceclient.Children]resourceclient.Form{
		{Kind: configMaps}: resourceclient.Metadata, {Kind: configMaps, Whole: true}: resourceclient.Typed, {Kind: deployments}: resourceclient.Typed, {Kind: custom}: resourceclient.Loose,
	} {
		if got := w.Form(child); got != want {
			t.Errorf("%+v is read as %s, want %s", child, got, want)
		}
	}
	for _, whole := range []bool{false, true} {
		child := resourceclient.Children{Kind: configMaps, Whole: whole}
		endpoint, err := w.Children(child)
		if err != nil {
			t.Fatal(err)
		}
		object := apply(t, endpoint, namespace, fmt.Sprint("child-", whole), map[string]string{"a": "b"})
		live, err := child.Live(object, "wire-test")
		if err != nil {
			t.Fatal(err)
		}
		if live.State.Status != readiness.Ready || len(live.Managed) == 0 || live.Namespace != namespace || (live.Object != nil) != whole {
			t.Errorf("whole %t: %+v", whole, live)
		}
		if kept, ok := live.Object.(*corev1.ConfigMap); whole && (!ok || kept.Data["a"] != "b" || kept.ManagedFields != nil || kept.Kind != "ConfigMap") {
			t.Errorf("what is kept is %+v", live.Object)
		}
	}
	if _, err := (resourceclient.Children{Kind: configMaps}).Live(&metav1.Status{}, "wire-test"); err == nil {
		t.Error("a Status is a child")
	}
	waiting, err := (resourceclient.Children{Kind: deployments}).Live(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1}}, "wire-test")
	if err != nil || waiting.State.Status != readiness.Waiting {
		t.Errorf("a new Deployment is %+v, %v", waiting, err)
	}
}

// Copy converts between all forms.
func TestCopy(t *testing.T) {
	t.Parallel()
	typed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"b": "c"}}, Data: map[string]string{"d": "e"}}
	loose, err := resourceclient.LooseOf(typed)
	if err != nil || loose.GetName() != "a" {
		t.Fatalf("%+v, %v", loose, err)
	}
	for _, from := range []runtime.Object{typed, loose} {
		var into corev1.ConfigMap
		if err := resourceclient.Copy(from.DeepCopyObject(), &into); err != nil || into.Data["d"] != "e" {
			t.Errorf("from %T: %+v, %v", from, into, err)
		}
		var short metav1.PartialObjectMetadata
		if err := resourceclient.Copy(from.DeepCopyObject(), &short); err != nil || short.Labels["b"] != "c" {
			t.Errorf("from %T: %+v, %v", from, short, err)
		}
		var maps unstructured.Unstructured
		if err := resourceclient.Copy(from.DeepCopyObject(), &maps); err != nil || maps.GetLabels()["b"] != "c" {
			t.Errorf("from %T: %+v, %v", from, maps, err)
		}
	}
	if err := resourceclient.Copy(&metav1.Status{}, &metav1.PartialObjectMetadata{}); err == nil {
		t.Error("a Status has metadata of an object")
	}
	if resourceclient.Revision("not a number") != 0 {
		t.Error("a version that is not a number is newer than something")
	}
}
