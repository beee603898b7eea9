package operon_test

import (
	"context"
	"fmt"
	"net/http"
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

// world is a namespace of a real cluster with an operator in it.
type world struct {
	*testing.T
	*localtest.Env
	client client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, localtest.Shared(t))
}

func newWorldOn(t *testing.T, env *localtest.Env) *world {
	t.Helper()
	env.InstallCRDs(t, "testdata/boxes.yaml")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, addBox} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, Env: env, client: c}
}

// run runs an operator until the test ends, or until the returned function is called.
func (w *world) run(composer operon.Composer[*Box], options ...operon.ManageOption) (requests *traffic, stop func()) {
	return w.runAs(w.Config, composer, options...)
}

func (w *world) runAs(config *rest.Config, composer operon.Composer[*Box], options ...operon.ManageOption) (*traffic, func()) {
	return w.runWith(config, operon.Config{Namespace: w.Namespace}, operon.API(addBox), operon.Manage(composer, options...))
}

func (w *world) runWith(config *rest.Config, cfg operon.Config, parts ...operon.Option) (*traffic, func()) {
	requests := &traffic{}
	config = rest.CopyConfig(config)
	config.Wrap(requests.count)
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
			w.removeBoxes()
		}
		stop()
	})
	return requests, stop
}

// removeBoxes deletes the Boxes while an operator runs that removes their finalizers.
func (w *world) removeBoxes() {
	w.Helper()
	localtest.Eventually(w.afterwards(), "the Boxes to go", func(ctx context.Context) error {
		var left BoxList
		if err := w.client.List(ctx, &left, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		var names []string
		for i := range left.Items {
			names = append(names, left.Items[i].Name)
			if err := w.client.Delete(ctx, &left.Items[i]); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		if len(names) > 0 {
			return fmt.Errorf("left are %q", names)
		}
		return nil
	})
}

// afterwards returns a test whose context outlives it, for cleanups.
func (w *world) afterwards() testing.TB { return outliving{w.T} }

type outliving struct{ *testing.T }

func (o outliving) Context() context.Context { return context.WithoutCancel(o.T.Context()) }

// poke changes a Box to cause a reconcile that has nothing to do.
func (w *world) poke(b *Box) {
	w.Helper()
	w.change(b, func() {
		if b.Annotations == nil {
			b.Annotations = map[string]string{}
		}
		b.Annotations["poke"] = b.ResourceVersion
	})
}

// traffic is the list of requests that an operator sent, except watches.
type traffic struct {
	mu   sync.Mutex
	sent []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (t *traffic) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") == "" {
			t.mu.Lock()
			t.sent = append(t.sent, r.Method+" "+r.URL.Path)
			t.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// all returns the requests so far, or only the writes.
func (t *traffic) all(writesOnly bool) []string {
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

// everything returns all requests so far, including the ones for events.
func (t *traffic) everything() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.sent)
}

// writes returns the requests so far that wrote or may have written an object or an event.
func (t *traffic) writes() []string {
	return slices.DeleteFunc(t.everything(), func(request string) bool {
		return strings.HasPrefix(request, http.MethodGet) || strings.HasSuffix(request, "/selfsubjectaccessreviews")
	})
}

func (w *world) box(name string, data map[string]string) *Box {
	w.Helper()
	b := &Box{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}, Spec: BoxSpec{Data: data}}
	w.must(w.client.Create(w.Context(), b))
	return b
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// change patches an object with the changes of edit.
func (w *world) change(object client.Object, edit func()) {
	w.Helper()
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(object), object))
	before := object.DeepCopyObject().(client.Object)
	edit()
	w.must(w.client.Patch(w.Context(), object, client.MergeFrom(before), client.FieldOwner("intruder")))
}

// ready waits until the condition Ready has the status and reason, applies to the current spec, and has a message that contains
// text.
func (w *world) ready(b *Box, status metav1.ConditionStatus, reason, text string) {
	w.Helper()
	w.eventually(fmt.Sprintf("Ready=%s %s on %s", status, reason, b.Name), func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
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

func (w *world) isReady(b *Box) {
	w.Helper()
	w.ready(b, metav1.ConditionTrue, "Ready", "")
}

func (w *world) eventually(what string, check func(context.Context) error) {
	w.Helper()
	localtest.Eventually(w.T, what, check)
}

// still checks for a while that a condition holds.
func (w *world) still(what string, check func(context.Context) error) {
	w.Helper()
	localtest.Always(w.T, stillness, what, check)
}

// meta returns the metadata of an object in the test's namespace.
func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: w.Namespace}
}

// event waits for an event with a reason whose note contains all the texts.
func (w *world) event(reason string, texts ...string) {
	w.Helper()
	w.eventually("event "+reason, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := w.client.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
			return err
		}
		var notes []string
		for _, e := range list.Items {
			if e.Reason == reason && hasAll(e.Note, texts) {
				return nil
			}
			notes = append(notes, e.Reason+": "+e.Note)
		}
		return fmt.Errorf("there are %q", notes)
	})
}

func hasAll(s string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(s, text) {
			return false
		}
	}
	return true
}

// config returns a ConfigMap in the form in which a composer declares it.
func config(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// copies composes one ConfigMap with the Box's name and data.
func copies(b *Box, out *operon.Composition) error {
	out.Child(config(b.Name, b.Spec.Data))
	return nil
}

// pause waits for a duration, or until ctx ends.
func pause(ctx context.Context, while time.Duration) error {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// ofChildren returns the requests that are neither for a status nor for an event.
func ofChildren(requests []string) []string {
	return slices.DeleteFunc(slices.Clone(requests), func(request string) bool {
		return strings.HasSuffix(request, "/status") || strings.Contains(request, "/events.k8s.io/")
	})
}

// uid returns the UID of the test's namespace.
func (w *world) uid() types.UID {
	w.Helper()
	namespace := &corev1.Namespace{}
	w.must(w.client.Get(w.Context(), client.ObjectKey{Name: w.Namespace}, namespace))
	return namespace.UID
}
