package fast_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/operon-framework/operon/cluster/internal/controlplane/planetest"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// The child objects of an object are deleted with it even if its kind was installed just before.
func TestChildrenOfNewKindGo(t *testing.T) {
	installKind(t, "lamp")
	child := createFamily(t, "lamp")
	deleteOwner(t, "lamp")
	awaitGone(t, child)
}

// The collector is the first client that lists all objects of a kind, in order to watch them.
func TestNewKindIsWatched(t *testing.T) {
	start := time.Now()
	installKind(t, "lantern")
	planetest.Eventually(t, "the collector watches the kind", func(context.Context) (bool, error) {
		at, ok := asked.Load("/apis/garbage.example.com/v1/lanterns")
		if ok {
			t.Logf("watched %s after it was installed", at.(time.Time).Sub(start).Round(time.Millisecond))
		}
		return ok, nil
	})
}

// The collector checks which kinds are served as soon as it receives news of a new kind, and again a moment later. Without
// news, it checks twice a minute. The duration of each check depends on the machine.
func TestCollectorHearsOfNewKinds(t *testing.T) {
	const farApart = 15 * time.Second
	start := time.Now()
	installKind(t, "torch")
	planetest.Eventually(t, "the collector looks twice without a pause", func(context.Context) (bool, error) {
		after := looks.since(start)
		for i := range len(after) - 1 {
			if after[i+1].Sub(after[i]) < farApart {
				return true, nil
			}
		}
		return false, fmt.Errorf("it looked at %v since %v", after, start)
	})
}

// A kind that was removed and installed again is detected again.
func TestChildrenOfKindThatCameBackGo(t *testing.T) {
	for range 2 {
		remove := installKind(t, "bulb")
		child := createFamily(t, "bulb")
		deleteOwner(t, "bulb")
		awaitGone(t, child)
		remove()
	}
}

// The collector processes a foreground deletion only if it watches the kind of the object: the child objects are deleted first,
// then the owner.
func TestNewKindIsDeletedInForeground(t *testing.T) {
	installKind(t, "wick")
	child := createFamily(t, "wick")
	policy := metav1.DeletePropagationForeground
	if err := objects(t, "wick").Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, child)
	planetest.Eventually(t, "the owner is gone", func(ctx context.Context) (bool, error) {
		_, err := objects(t, "wick").Get(ctx, "owner", metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
}

// installKind installs a kind and returns when its objects can be created. It returns a function that removes the kind.
func installKind(t *testing.T, name string) (remove func()) {
	t.Helper()
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": name + "s.garbage.example.com"},
		"spec": map[string]any{
			"group": "garbage.example.com",
			"scope": "Namespaced",
			"names": map[string]any{"plural": name + "s", "singular": name, "kind": strings.ToUpper(name[:1]) + name[1:]},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	all := dynamicClient(t).Resource(definitions)
	if _, err := all.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := func(ctx context.Context) error { return all.Delete(ctx, definition.GetName(), metav1.DeleteOptions{}) }
	t.Cleanup(func() {
		if err := gone(context.Background()); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	// An API server that serves a kind may still refuse objects because of an earlier definition with the same name.
	planetest.Eventually(t, "objects can be created", func(ctx context.Context) (bool, error) {
		_, err := objects(t, name).Create(ctx, ownerOf(name), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil, err
	})
	return func() {
		if err := gone(t.Context()); err != nil {
			t.Fatal(err)
		}
		planetest.Eventually(t, "the kind is gone", func(ctx context.Context) (bool, error) {
			_, err := all.Get(ctx, definition.GetName(), metav1.GetOptions{})
			return apierrors.IsNotFound(err), err
		})
	}
}

func ownerOf(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "garbage.example.com/v1",
		"kind":       strings.ToUpper(name[:1]) + name[1:],
		"metadata":   map[string]any{"name": "owner"},
	}}
}

// createFamily creates an object of the kind and a ConfigMap that it owns, and returns the name of the ConfigMap.
func createFamily(t *testing.T, name string) (child string) {
	t.Helper()
	owner, err := objects(t, name).Create(t.Context(), ownerOf(name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	blocks := true
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "child-of-" + name + "-",
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: &blocks,
		}},
	}}
	owned, err = client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), owned, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return owned.Name
}

func deleteOwner(t *testing.T, name string) {
	t.Helper()
	if err := objects(t, name).Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func awaitGone(t *testing.T, child string) {
	t.Helper()
	planetest.Eventually(t, child+" is gone", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, child, metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
}

func objects(t *testing.T, name string) dynamic.ResourceInterface {
	t.Helper()
	resource := schema.GroupVersionResource{Group: "garbage.example.com", Version: "v1", Resource: name + "s"}
	return dynamicClient(t).Resource(resource).Namespace(metav1.NamespaceDefault)
}

func dynamicClient(t *testing.T) *dynamic.DynamicClient {
	t.Helper()
	c, err := dynamic.NewForConfig(plane.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return c
}
