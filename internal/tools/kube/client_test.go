package kube_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/local/localtest"
)

func connect(t *testing.T) (*kube.Client, *localtest.Env) {
	t.Helper()
	env := localtest.Shared(t)
	client, err := kube.New(env.Config, "kube-test")
	if err != nil {
		t.Fatal(err)
	}
	return client, env
}

func configMap(namespace, name string, data map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data}}
	made.SetNamespace(namespace)
	made.SetName(name)
	return made
}

// An object is applied, dry-run, patched and deleted. A later object with the same name is not deleted.
func TestObjects(t *testing.T) {
	t.Parallel()
	c, env := connect(t)
	wanted := configMap("", "one", map[string]any{"a": "1"})
	kube.SetLabel(wanted, "kube.test/owner", "me")
	if err := c.Place(wanted, env.Namespace); err != nil || wanted.GetNamespace() != env.Namespace {
		t.Fatalf("placed in %q, %v", wanted.GetNamespace(), err)
	}
	if before, err := c.Get(t.Context(), wanted); before != nil || err != nil {
		t.Fatalf("before: %v, %v", before, err)
	}
	if tried, err := c.DryRun(t.Context(), wanted); err != nil || tried.GetLabels()["kube.test/owner"] != "me" {
		t.Fatalf("tried: %v, %v", tried, err)
	}
	if after, err := c.Get(t.Context(), wanted); after != nil || err != nil {
		t.Fatalf("a dry run made %v, %v", after, err)
	}
	first, err := c.Apply(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	if fields := first.GetManagedFields(); len(fields) != 1 || fields[0].Manager != "kube-test" || fields[0].Operation != "Apply" {
		t.Errorf("fields are of %+v", fields)
	}
	patched, err := c.Merge(t.Context(), first, map[string]any{"data": map[string]any{"a": "2"}})
	if err != nil || patched.Object["data"].(map[string]any)["a"] != "2" {
		t.Errorf("patched %v, %v", patched, err)
	}
	if again, err := c.Apply(t.Context(), wanted); err != nil || again.Object["data"].(map[string]any)["a"] != "1" {
		t.Errorf("applied over another manager's value %v, %v", again, err)
	}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	for selector, want := range map[string]int{"kube.test/owner=me": 1, "kube.test/owner=you": 0} {
		if found, err := c.List(t.Context(), configMaps, env.Namespace, selector); err != nil || len(found) != want {
			t.Errorf("%d have %s, %v", len(found), selector, err)
		}
	}
	if found, err := c.List(t.Context(), schema.GroupVersionResource{Group: "kube.test", Version: "v1", Resource: "nothings"}, "", ""); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextCancel(t.Context(), 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		now, err := c.Get(ctx, wanted) // the garbage collector first deletes the objects that it owns
		return now == nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Apply(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), first); err != nil {
		t.Errorf("the object is gone: %v", err)
	}
	if now, err := c.Get(t.Context(), wanted); err != nil || now == nil || now.GetUID() != second.GetUID() {
		t.Errorf("another object of its name was deleted: %v, %v", now, err)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	c, _ := connect(t)
	for kind, want := range map[schema.GroupKind]bool{{Group: "apps", Kind: "Deployment"}: true, {Group: "kube.test", Kind: "Nothing"}: false} {
		if has, err := c.Has(kind); has != want || err != nil {
			t.Errorf("%s: %v, %v", kind, has, err)
		}
	}
	_, err := c.Mapping(schema.GroupVersionKind{Group: "kube.test", Version: "v1", Kind: "Nothing"})
	if !meta.IsNoMatchError(err) || !strings.Contains(err.Error(), "find kind Nothing in the cluster") {
		t.Errorf("%v", err)
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetNamespace("n")
	if err := c.Place(namespace, "default"); err != nil || namespace.GetNamespace() != "" {
		t.Errorf("a namespace is in %q, %v", namespace.GetNamespace(), err)
	}
	all, _, err := c.Deletable()
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[kube.Resource]bool{
		{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true}: true,
		{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}}:                   true,
		{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "bindings"}, Namespaced: true}:   false,
	} {
		if slices.Contains(all, resource) != want {
			t.Errorf("%v can be listed and deleted: want %v", resource, want)
		}
	}
}

// definition returns a definition of Crate in a group.
func definition(group, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "crates." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"kind": "Crate", "plural": "crates"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": kind}}}},
		},
	}}
}

// After definitions are installed, the client knows their kinds and can write their objects.
func TestInstallCRDs(t *testing.T) {
	t.Parallel()
	c, env := connect(t)
	group := env.Namespace + ".test" // new in this cluster
	crate := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Crate"}}
	crate.SetNamespace(env.Namespace)
	crate.SetName("one")
	if has, err := c.Has(crate.GroupVersionKind().GroupKind()); has || err != nil {
		t.Fatal(has, err)
	}
	wanted := definition(group, "object")
	t.Cleanup(func() {
		err := c.Dynamic.Resource(kube.CRDs).Delete(context.WithoutCancel(t.Context()), wanted.GetName(), metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	if err := c.InstallCRDs(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(t.Context(), crate); err != nil {
		t.Error(err)
	}
	var refused *kube.CRDError
	err := kube.InstallCRDs(t.Context(), env.Config, "kube-test", definition(group, "nothing"))
	if !errors.As(err, &refused) || refused.Name != wanted.GetName() {
		t.Errorf("%v", err)
	}
}
