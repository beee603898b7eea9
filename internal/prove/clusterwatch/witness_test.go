package clusterwatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/internal/prove/runlog"
	"github.com/operon-framework/operon/local/localtest"
)

func start(t *testing.T) (*localtest.Env, *clusterwatch.Witness) {
	t.Helper()
	env := localtest.Shared(t)
	w, err := clusterwatch.Start(t.Context(), env.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return env, w
}

// history returns the changes of all objects with a name.
func history(changes []runlog.Change, name string) []string {
	var all []string
	for _, c := range changes {
		if c.Name == name {
			all = append(all, c.Type)
		}
	}
	return all
}

// Each state of an object is recorded, in order, and a deleted object is no longer listed.
func TestHistory(t *testing.T) {
	t.Parallel()
	env, w := start(t)
	scene := w.Scene(env.Namespace)
	client := kubernetes.NewForConfigOrDie(env.Config).CoreV1().ConfigMaps(env.Namespace)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Data: map[string]string{"a": "1"}}
	if _, err := client.Create(t.Context(), config, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"2", "3"} {
		config.Data["a"] = value
		if _, err := client.Update(t.Context(), config, metav1.UpdateOptions{FieldManager: "somebody"}); err != nil {
			t.Fatal(err)
		}
	}
	resource := schema.GroupResource{Resource: "configmaps"}
	localtest.Eventually(t, "the last state", func(context.Context) error {
		if object := w.Object(resource, env.Namespace, "one"); object == nil || fmt.Sprint(object.Object["data"]) != "map[a:3]" {
			return fmt.Errorf("it is %v", object)
		}
		return nil
	})
	if err := client.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	localtest.Eventually(t, "the whole history", func(context.Context) error {
		if got, want := history(scene.Changes(0), "one"), []string{"ADDED", "MODIFIED", "MODIFIED", "DELETED"}; !slices.Equal(got, want) {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
	if w.Object(resource, env.Namespace, "one") != nil {
		t.Error("it is there still")
	}
	for _, object := range scene.State() {
		if object.GetName() == "one" {
			t.Error("it is part of the state")
		}
	}
	if last := scene.Changes(0)[scene.Count()-2]; last.Manager != "somebody" || last.Kind != "ConfigMap" || last.Version == "" {
		t.Errorf("a change is %+v", last)
	}
}

// A kind that is added after the start is watched after a refresh.
func TestRefresh(t *testing.T) {
	t.Parallel()
	env, w := start(t)
	env.InstallCRDs(t, "../../../test/testdata/boxes.yaml")
	if err := w.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !w.Watches(schema.GroupResource{Group: "test.operon.dev", Resource: "boxes"}) {
		t.Error("boxes are not watched")
	}
	if w.Watches(schema.GroupResource{Group: "test.operon.dev", Resource: "nothing"}) {
		t.Error("what is not there is watched")
	}
}

// Events are stored, but are not recorded as changes.
// Refresh does not wait for a kind that is removed before its objects could be read.
func TestAKindThatGoesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	group := env.Namespace + ".example.com"
	definition, err := os.ReadFile("../../../test/testdata/boxes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "boxes.yaml")
	if err := os.WriteFile(file, bytes.ReplaceAll(definition, []byte("test.operon.dev"), []byte(group)), 0o600); err != nil {
		t.Fatal(err)
	}
	env.InstallCRDs(t, file)
	definitions := dynamic.NewForConfigOrDie(env.Config).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	remove := sync.OnceValue(func() error {
		return definitions.Delete(context.WithoutCancel(t.Context()), "boxes."+group, metav1.DeleteOptions{})
	})
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	config := *env.Config
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/boxes") || !strings.Contains(r.URL.Path, group) {
				return next.RoundTrip(r)
			}
			return nil, errors.Join(errors.New("it is too late"), remove())
		})
	})
	ctx, cancel := context.WithTimeout(t.Context(), localtest.Patience)
	defer cancel()
	w, err := clusterwatch.Start(ctx, &config)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Watches(schema.GroupResource{Group: group, Resource: "boxes"}) {
		t.Error("it is watched still")
	}
}

// A temporary failure of discovery does not prevent the start.
func TestDiscoveryFailsOnce(t *testing.T) {
	t.Parallel()
	var failed sync.Map
	config := *localtest.Shared(t).Config
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if _, again := failed.LoadOrStore(r.URL.Path, true); again || r.URL.Path != "/api" && r.URL.Path != "/apis" {
				return next.RoundTrip(r)
			}
			return nil, errors.New("the connection is lost")
		})
	})
	w, err := clusterwatch.Start(t.Context(), &config)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, kind := range []schema.GroupResource{{Resource: "configmaps"}, {Group: "apps", Resource: "deployments"}} {
		if !w.Watches(kind) {
			t.Errorf("%s are not watched", kind)
		}
	}
}

// roundTripper implements http.RoundTripper with a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestEvents(t *testing.T) {
	t.Parallel()
	env, w := start(t)
	scene := w.Scene(env.Namespace)
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "one"}, Type: "Warning", Reason: "Broken", Message: "it is broken", Count: 3,
		InvolvedObject: corev1.ObjectReference{Kind: "Box", Name: "b", Namespace: env.Namespace}, Source: corev1.EventSource{Component: "me"},
	}
	if _, err := kubernetes.NewForConfigOrDie(env.Config).CoreV1().Events(env.Namespace).Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := runlog.Event{Of: "Box/b", Type: "Warning", Reason: "Broken", Note: "it is broken", Count: 3, By: "me"}
	localtest.Eventually(t, "the event", func(context.Context) error {
		if got := scene.Events(); !slices.Contains(got, want) {
			return fmt.Errorf("there are %v", got)
		}
		return nil
	})
	if got := history(scene.Changes(0), "one"); got != nil {
		t.Errorf("the event counts as %v", got)
	}
}
