package policies_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/operon-framework/operon/local/localtest"
)

// On a real API server, the generated policies reject what the markers forbid and allow everything else, and they have no
// field that the API server does not know.
func TestPoliciesRefuse(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	env.InstallCRDs(t, definitions(t))
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	label(t, c, env.Namespace)
	install(t, c)
	limits := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "limits"}, Data: map[string]string{"most": "20"}}
	if err := c.Create(t.Context(), limits); err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "a crate to be too large", func(ctx context.Context) error {
		return refused(c.Create(ctx, crate(env.Namespace, "large", 25), client.DryRunAll), "a crate holds at most 24 bottles")
	})
	localtest.Eventually(t, "a pod to be refused in a strict namespace", func(ctx context.Context) error {
		return refused(c.Create(ctx, pod(env.Namespace, true), client.DryRunAll), "no pods that see the node's processes")
	})
	if err := c.Create(t.Context(), pod(env.Namespace, false), client.DryRunAll); err != nil {
		t.Error(err)
	}
	small := crate(env.Namespace, "small", 12)
	if err := c.Create(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	small.Object["spec"] = map[string]any{"bottles": int64(6)}
	if err := refused(c.Update(t.Context(), small), "a crate of 12 cannot shrink"); err != nil {
		t.Error(err)
	}
}

// refused returns an error unless err is a rejection that contains the given words.
func refused(err error, words string) error {
	if err == nil {
		return errors.New("it was not refused")
	}
	if !strings.Contains(err.Error(), words) {
		return fmt.Errorf("it was refused with %w, want %q", err, words)
	}
	return nil
}

func crate(namespace, name string, bottles int64) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"bottles": bottles}}}
	made.SetAPIVersion("policies.example.com/v1")
	made.SetKind("Crate")
	made.SetNamespace(namespace)
	made.SetName(name)
	return made
}

func pod(namespace string, sees bool) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"},
		Spec:       corev1.PodSpec{HostPID: sees, Containers: []corev1.Container{{Name: "one", Image: "one"}}},
	}
}

func label(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"policies.example.com/strict":"true"}}}`))
	if err := c.Patch(t.Context(), space, patch); err != nil {
		t.Fatal(err)
	}
}

// install applies the golden file, and waits until the API server has type-checked it without a finding.
func install(t *testing.T, c client.Client) {
	t.Helper()
	file, err := os.Open("testdata/good/policies.golden")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	documents := utilyaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(object)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = c.Create(t.Context(), object)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
		if object.GetKind() == "ValidatingAdmissionPolicy" {
			localtest.Eventually(t, "the API server to have checked "+object.GetName(), func(ctx context.Context) error { return checked(ctx, c, object) })
		}
	}
}

func checked(ctx context.Context, c client.Client, policy *unstructured.Unstructured) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
		return err
	}
	found, looked, _ := unstructured.NestedMap(policy.Object, "status", "typeChecking")
	if !looked {
		return errors.New("it has not looked yet")
	}
	if len(found) > 0 {
		return fmt.Errorf("it warns: %v", found)
	}
	return nil
}

// definitions writes the definitions of the package that contains the policies.
func definitions(t *testing.T) string {
	t.Helper()
	roots, err := loader.LoadRoots("./testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	generator, registry, out := crd.Generator{}, &markers.Registry{}, kept{}
	if err := generator.RegisterMarkers(registry); err != nil {
		t.Fatal(err)
	}
	err = generator.Generate(&genall.GenerationContext{
		Collector: &markers.Collector{Registry: registry}, Roots: roots, OutputRule: out,
		Checker: &loader.TypeChecker{NodeFilters: []loader.NodeFilter{generator.CheckFilter()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range out {
		if err := os.WriteFile(filepath.Join(dir, name), content.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
