package boxtest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
)

// Lives reads a ConfigMap, which must exist.
func (w *Fixture) Lives(name string) *corev1.ConfigMap {
	w.Helper()
	found := ConfigMap(name, nil)
	w.Must(w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, found))
	return found
}

// Written records the requests that change something.
func Written(config *rest.Config) (watched *rest.Config, all func() []string) {
	var mu sync.Mutex
	var requests []string
	watched = rest.CopyConfig(config)
	watched.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return RoundTripper(func(r *http.Request) (*http.Response, error) {
			question := strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews")
			if r.Method != http.MethodGet && r.URL.Query().Get("dryRun") == "" && !question {
				mu.Lock()
				requests = append(requests, r.Method+" "+r.URL.Path)
				mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	return watched, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(requests)
	}
}

// EmptyConfigMap returns an empty ConfigMap in the test's namespace.
func (w *Fixture) EmptyConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: w.Meta(name)}
}

// OfStates returns the requests except the ones for events, which are sent asynchronously.
func OfStates(requests []string) []string {
	return slices.DeleteFunc(requests, func(request string) bool { return strings.Contains(request, "/events") })
}

// Quiet waits until no request was sent for a while.
func (w *Fixture) Quiet(sent func() []string) {
	w.Helper()
	w.Eventually("the operator to be still", func(ctx context.Context) error {
		before, began := len(sent()), time.Now()
		if err := w.Client.Get(ctx, client.ObjectKey{Name: w.Namespace}, &corev1.Namespace{}); err != nil {
			return err
		}
		// On a slow machine, a reconcile takes longer than Stillness.
		if err := Pause(ctx, max(Stillness, 20*time.Since(began))); err != nil {
			return err
		}
		if now := sent(); len(now) > before {
			return fmt.Errorf("sent %q", now[before:])
		}
		return nil
	})
}

// Stillness is how long a test checks that nothing happens. Reconciles take milliseconds.
const Stillness = time.Second

// Holds waits until a ConfigMap has the data.
func (w *Fixture) Holds(child *corev1.ConfigMap, want map[string]string) {
	w.Helper()
	child.Namespace = w.Namespace
	w.Eventually(fmt.Sprintf("%s to hold %v", child.Name, want), func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
			return err
		}
		if !maps.Equal(child.Data, want) {
			return fmt.Errorf("it holds %v", child.Data)
		}
		return nil
	})
}

// Gone waits until an object does not exist.
func (w *Fixture) Gone(object client.Object) {
	w.Helper()
	w.Eventually(object.GetName()+" to go", func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there, error %w", err)
	})
}

// Sees waits until the status of a Box lists the observations of an observer.
func (w *Fixture) Sees(b *Box, want ...string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("status.seen to be %q", want), func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if !slices.Equal(b.Status.Seen, want) {
			return fmt.Errorf("it is %q", b.Status.Seen)
		}
		return nil
	})
}

// Beside returns a configuration in which webhooks are served on the machine of the API server.
func (w *Fixture) Beside() operon.Config {
	return operon.Config{Namespace: w.Namespace, Webhooks: operon.Webhooks{BindAddress: "127.0.0.1:0"}}
}
