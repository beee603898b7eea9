package removal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/removal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
	"github.com/operon-framework/operon/local/localtest"
)

// fixture is a Remover that records deleted objects, and objects to delete.
type fixture struct {
	*removal.Remover
	env  *localtest.Env
	gone []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	env := localtest.Shared(t)
	client, err := kube.New(env.Config, "removal-test")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{env: env}
	f.Remover = &removal.Remover{Client: client, Gone: func(object *unstructured.Unstructured) { f.gone = append(f.gone, object.GetName()) }}
	return f
}

// object creates a ConfigMap with finalizers that block its deletion until the test ends.
func (f *fixture) object(t *testing.T, name string, finalizers ...string) *unstructured.Unstructured {
	t.Helper()
	objects := kubernetes.NewForConfigOrDie(f.env.Config).CoreV1().ConfigMaps(f.env.Namespace)
	hold(t, objects, name, finalizers...)
	stored := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	stored.SetName(name)
	stored.SetNamespace(f.env.Namespace)
	stored, err := f.Client.Get(t.Context(), stored)
	if err != nil || stored == nil {
		t.Fatal(stored, err)
	}
	return stored
}

func TestRemove(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	objects := []*unstructured.Unstructured{f.object(t, "a"), f.object(t, "b")}
	if err := f.Remove(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(f.gone); !slices.Equal(f.gone, []string{"a", "b"}) {
		t.Errorf("gone are %q", f.gone)
	}
	if err := f.Remove(t.Context(), objects); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// An object whose finalizer no controller clears remains until the finalizer is stripped.
func TestHeldObjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	held := f.object(t, "held", "example.com/a")
	objects := []*unstructured.Unstructured{held, f.object(t, "free")}
	if err := f.Delete(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	note := f.Remover.Gone
	f.Remover.Gone = func(object *unstructured.Unstructured) {
		note(object)
		cancel() // only the object with a finalizer is left to wait for
	}
	left, err := f.WaitFor(ctx, time.Minute, objects)
	if err != nil || len(left) != 1 || left[0].GetDeletionTimestamp() == nil || !removal.Held(left[0]) {
		t.Fatalf("left are %v, %v", left, err)
	}
	if text := removal.Left(errors.New("too late"), left).Error(); text != "too late: 1 object left\n  "+tree.Address(held)+" waits for its finalizer example.com/a" {
		t.Errorf("%s", text)
	}
	if _, err := removal.Strip(t.Context(), f.Client, held); err != nil {
		t.Fatal(err)
	}
	if err := f.WaitGone(t.Context(), left); err != nil || len(f.gone) != 2 {
		t.Errorf("gone are %q, %v", f.gone, err)
	}
}

// A rejected deletion is retried only if it may succeed later.
func TestRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := f.object(t, "one")
	one.SetName("not_a_name")
	asked := 0
	f.Retry = func(error) bool {
		asked++
		one.SetName("one")
		return true
	}
	f.Client.Dynamic = refusing(f.env.Config, "not_a_name")
	if err := f.Delete(t.Context(), []*unstructured.Unstructured{one}); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	two := f.object(t, "two")
	two.SetName("not_a_name")
	f.Retry = nil
	if err := f.Delete(t.Context(), []*unstructured.Unstructured{two}); !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "remove ConfigMap "+f.env.Namespace+"/not_a_name: ") {
		t.Errorf("%v", err)
	}
}

func TestForeign(t *testing.T) {
	t.Parallel()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetFinalizers([]string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents})
	if removal.Held(object) {
		t.Errorf("foreign are %q", removal.Foreign(object))
	}
	object.SetFinalizers(append(object.GetFinalizers(), "example.com/a"))
	if got := removal.Foreign(object); !slices.Equal(got, []string{"example.com/a"}) || len(object.GetFinalizers()) != 3 {
		t.Errorf("foreign are %q of %q", got, object.GetFinalizers())
	}
	if line := removal.Lines([]*unstructured.Unstructured{object}); !strings.HasSuffix(line, " waits for its finalizer example.com/a") {
		t.Errorf("the line is %q", line)
	}
	object.SetFinalizers([]string{metav1.FinalizerDeleteDependents})
	if line := removal.Lines([]*unstructured.Unstructured{object}); !strings.HasSuffix(line, " waits for its finalizer foregroundDeletion") {
		t.Errorf("the line is %q", line)
	}
}

func TestLinesOfANamespace(t *testing.T) {
	t.Parallel()
	namespace := &unstructured.Unstructured{Object: map[string]any{"kind": "Namespace", "metadata": map[string]any{"name": "n"}, "status": map[string]any{
		"conditions": []any{map[string]any{"type": "NamespaceContentRemaining", "status": "True", "message": "1 pod remains"}},
	}}}
	if got := removal.Lines([]*unstructured.Unstructured{namespace}); got != "  Namespace n; 1 pod remains" {
		t.Errorf("%s", got)
	}
}
