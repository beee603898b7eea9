package boxtest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
)

// Fixture is a namespace of a real cluster in which a test runs operators of Boxes.
type Fixture struct {
	*testing.T
	*localtest.Env
	// Client reads and writes Boxes and the kinds of Kubernetes, without a cache.
	Client client.Client
}

// New returns a fixture on the cluster that all tests share.
func New(t *testing.T) *Fixture {
	t.Helper()
	return NewOn(t, localtest.Shared(t))
}

// NewOn returns a fixture on another cluster.
func NewOn(t *testing.T, env *localtest.Env) *Fixture {
	t.Helper()
	env.InstallCRDs(t, File(t, "test/testdata/boxes.yaml"))
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &Fixture{T: t, Env: env, Client: c}
}

// Run runs an operator until the test ends, or until the returned function is called.
func (w *Fixture) Run(composer operon.Composer[*Box], options ...operon.ManageOption) (requests *Traffic, stop func()) {
	return w.RunAs(w.Config, composer, options...)
}

// RunAs is Run with another connection.
func (w *Fixture) RunAs(config *rest.Config, composer operon.Composer[*Box], options ...operon.ManageOption) (*Traffic, func()) {
	return w.RunWith(config, operon.Config{Namespace: w.Namespace}, operon.API(AddToScheme), operon.Manage(composer, options...))
}

// RunWith is Run with all options of an operator.
func (w *Fixture) RunWith(config *rest.Config, cfg operon.Config, parts ...operon.Option) (*Traffic, func()) {
	requests := &Traffic{}
	config = rest.CopyConfig(config)
	config.Wrap(requests.Count)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- operon.Run(ctx, "box-operator", config, cfg, parts...)
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the operator ended with %v", err)
		}
	})
	w.Cleanup(func() {
		if ctx.Err() == nil {
			w.RemoveBoxes()
		}
		stop()
	})
	return requests, stop
}

// RemoveBoxes deletes the Boxes while an operator runs that removes their finalizers.
func (w *Fixture) RemoveBoxes() {
	w.Helper()
	localtest.Eventually(w.Afterwards(), "the Boxes to go", func(ctx context.Context) error {
		var left BoxList
		if err := w.Client.List(ctx, &left, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		var names []string
		for i := range left.Items {
			names = append(names, left.Items[i].Name)
			if err := w.Client.Delete(ctx, &left.Items[i]); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		if len(names) > 0 {
			return fmt.Errorf("left are %q", names)
		}
		return nil
	})
}

// Afterwards returns a test whose context outlives it, for cleanups.
func (w *Fixture) Afterwards() testing.TB { return outliving{w.T} }

type outliving struct{ *testing.T }

func (o outliving) Context() context.Context { return context.WithoutCancel(o.T.Context()) }

// Poke changes a Box to cause a reconcile that has nothing to do.
func (w *Fixture) Poke(b *Box) {
	w.Helper()
	w.Change(b, func() {
		if b.Annotations == nil {
			b.Annotations = map[string]string{}
		}
		b.Annotations["poke"] = b.ResourceVersion
	})
}

// Traffic is the list of requests that an operator sent, except watches.
type Traffic struct {
	mu   sync.Mutex
	sent []string
}

// RoundTripper is a function that sends requests.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Count returns a transport that records the requests that it sends.
func (t *Traffic) Count(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") == "" {
			t.mu.Lock()
			t.sent = append(t.sent, r.Method+" "+r.URL.Path)
			t.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// All returns the requests so far, or only the writes.
func (t *Traffic) All(writesOnly bool) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for _, request := range t.sent {
		if strings.Contains(request, "/events/") {
			continue // the recorder updates the count of an earlier event at any time
		}
		if strings.HasSuffix(request, "/selfsubjectaccessreviews") {
			continue // a question
		}
		if !writesOnly || !strings.HasPrefix(request, http.MethodGet) {
			all = append(all, request)
		}
	}
	return all
}

// Everything returns all requests so far, including the ones for events.
func (t *Traffic) Everything() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.sent)
}

// Writes returns the requests so far that wrote or may have written an object or an event.
func (t *Traffic) Writes() []string {
	return slices.DeleteFunc(t.Everything(), func(request string) bool {
		return strings.HasPrefix(request, http.MethodGet) || strings.HasSuffix(request, "/selfsubjectaccessreviews")
	})
}

// Box creates a Box.
func (w *Fixture) Box(name string, data map[string]string) *Box {
	w.Helper()
	b := &Box{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}, Spec: BoxSpec{Data: data}}
	w.Must(w.Client.Create(w.Context(), b))
	return b
}

// Must fails the test if there is an error.
func (w *Fixture) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Change patches an object with the changes of edit.
func (w *Fixture) Change(object client.Object, edit func()) {
	w.Helper()
	w.Must(w.Client.Get(w.Context(), client.ObjectKeyFromObject(object), object))
	before := object.DeepCopyObject().(client.Object)
	edit()
	w.Must(w.Client.Patch(w.Context(), object, client.MergeFrom(before), client.FieldOwner("intruder")))
}

// Ready waits until the condition Ready has the status and reason, applies to the current spec, and has a message that contains
// text.
func (w *Fixture) Ready(b *Box, status metav1.ConditionStatus, reason, text string) {
	w.Helper()
	w.Eventually(fmt.Sprintf("Ready=%s %s on %s", status, reason, b.Name), func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, "Ready")
		if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, text) ||
			b.Status.ObservedGeneration != b.Generation {
			return fmt.Errorf("generation %d, status %+v", b.Generation, b.Status)
		}
		return nil
	})
}

// IsReady waits until a Box is ready.
func (w *Fixture) IsReady(b *Box) {
	w.Helper()
	w.Ready(b, metav1.ConditionTrue, "Ready", "")
}

// Eventually waits until a check returns nil.
func (w *Fixture) Eventually(what string, check func(context.Context) error) {
	w.Helper()
	localtest.Eventually(w.T, what, check)
}

// Still checks for a while that a condition holds.
func (w *Fixture) Still(what string, check func(context.Context) error) {
	w.Helper()
	localtest.Always(w.T, Stillness, what, check)
}

// Meta returns the metadata of an object in the test's namespace.
func (w *Fixture) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: w.Namespace}
}

// Event waits for an event with a reason whose note contains all the texts.
func (w *Fixture) Event(reason string, texts ...string) {
	w.Helper()
	w.Eventually("event "+reason, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := w.Client.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		var notes []string
		for _, e := range list.Items {
			if e.Reason == reason && HasAll(e.Note, texts) {
				return nil
			}
			notes = append(notes, e.Reason+": "+e.Note)
		}
		return fmt.Errorf("there are %q", notes)
	})
}

// HasAll reports whether a string contains all texts.
func HasAll(s string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(s, text) {
			return false
		}
	}
	return true
}

// ConfigMap returns a ConfigMap in the form in which a composer declares it.
func ConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// Copies composes one ConfigMap with the Box's name and data.
func Copies(b *Box, out *operon.Composition) error {
	out.Child(ConfigMap(b.Name, b.Spec.Data))
	return nil
}

// Pause waits for a duration, or until ctx ends.
func Pause(ctx context.Context, while time.Duration) error {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// OfChildren returns the requests that are neither for a status nor for an event.
func OfChildren(requests []string) []string {
	return slices.DeleteFunc(slices.Clone(requests), func(request string) bool {
		return strings.HasSuffix(request, "/status") || strings.Contains(request, "/events.k8s.io/")
	})
}

// Uid returns the UID of the test's namespace.
func (w *Fixture) UID() types.UID {
	w.Helper()
	namespace := &corev1.Namespace{}
	w.Must(w.Client.Get(w.Context(), client.ObjectKey{Name: w.Namespace}, namespace))
	return namespace.UID
}

// File returns a file of the repository, by its path from the root.
func File(t testing.TB, path string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, path)
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("find %s: no go.mod in any directory above", path)
		}
		dir = filepath.Dir(dir)
	}
}
