package clusterwatch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/operon-framework/operon/internal/prove/clusterwatch"
	"github.com/operon-framework/operon/local/localtest"
)

// While a watch is interrupted, the witness says so. Changes that it noticed only by another list are counted.
func TestInterruptedWatch(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/secrets") }}
	config := gate.Config(env.Config)
	var closed atomic.Bool
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if closed.Load() && gate.Of(r) {
				return nil, errors.New("the API server is not reachable")
			}
			return next.RoundTrip(r)
		})
	})
	w, err := clusterwatch.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	secrets, scene, start := schema.GroupResource{Resource: "secrets"}, w.Scene(env.Namespace), time.Now()
	client := kubernetes.NewForConfigOrDie(env.Config).CoreV1().Secrets(env.Namespace)
	create := func(name string) {
		if _, err := client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		localtest.Eventually(t, "secret "+name, func(context.Context) error {
			if w.Object(secrets, env.Namespace, name) == nil {
				return errors.New("it is not known")
			}
			return nil
		})
	}
	interrupt := func(expired bool) {
		closed.Store(true)
		gate.Cut(expired)
		localtest.Eventually(t, "the interruption", func(context.Context) error {
			if got := w.Interrupted(start); got != "secrets" || w.Current(secrets) {
				return fmt.Errorf("interrupted is %q", got)
			}
			return nil
		})
	}
	resumed := func() {
		closed.Store(false)
		localtest.Eventually(t, "the watch", func(context.Context) error {
			if got := w.Interrupted(start); got != "" || !w.Current(secrets) {
				return fmt.Errorf("interrupted is %q", got)
			}
			return nil
		})
	}

	create("one")
	interrupt(false)
	if got := w.Interrupted(time.Now()); got != "" {
		t.Errorf("an earlier interruption of %q counts", got)
	}
	resumed()
	create("two")
	if got := missed(scene); got != nil {
		t.Errorf("%v were missed although the watch was resumed where it had ended", got)
	}

	interrupt(true)
	if err := client.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	resumed()
	if got := missed(scene); !slices.Equal(got, []string{"DELETED one"}) || w.Object(secrets, env.Namespace, "one") != nil {
		t.Errorf("%v were missed, want the deletion", got)
	}
}

// missed returns the changes that no watch has shown.
func missed(scene *clusterwatch.Scene) []string {
	var all []string
	for _, change := range scene.Changes(0) {
		if change.Missed {
			all = append(all, change.Type+" "+change.Name)
		}
	}
	return all
}
