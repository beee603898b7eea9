// Package tenants_test attacks an operator on a real API server: a hostile tenant with the permissions of a normal user in one
// namespace tries to reach the objects of a tenant in another namespace, and to exhaust the operator.
package tenants_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/api/actions/v1alpha1"
	"github.com/operon-framework/operon/internal/testing/box"
	"github.com/operon-framework/operon/local/localtest"
)

// operatorName is also the operator's field manager, which a tenant can guess.
const operatorName = "shop-operator"

// quiet is how long the operator sends no requests when it has finished, at least.
const quiet = 500 * time.Millisecond

// atOnce is the number of tests that run concurrently. They wait most of the time.
const atOnce = "3"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// world is an operator and its two tenants.
type world struct {
	*testing.T
	admin  client.Client
	system *databases
	// turns are the turns of slow Boxes.
	turns chan struct{}
	// free ends all waits for turns.
	free func()
	sent *traffic
	// a is the hostile tenant, b is the victim.
	a, b *tenant
}

// tenant has the permissions of a normal user in one namespace.
type tenant struct {
	client.Client
	namespace string
	// box is the tenant's first Box, which is ready when the attack begins.
	box *box.Box
	// sent are the requests of the tenant itself.
	sent *traffic
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, system: &databases{byID: map[string]database{}}, turns: make(chan struct{}), sent: &traffic{}}
	env := localtest.Shared(t)
	env.InstallCRDs(t, "../testdata/boxes.yaml", "../../api/actions/v1alpha1/crd")
	w.admin = newClient(t, env.Config)
	w.a, w.b = w.tenant("hostile", env), w.tenant("victim", localtest.Shared(t))
	w.run(env)
	w.free = sync.OnceFunc(func() { close(w.turns) })
	t.Cleanup(w.free)
	return w
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, box.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tenant binds a user to the ClusterRole edit and to a Role for Boxes in one namespace.
func (w *world) tenant(name string, env *localtest.Env) *tenant {
	w.Helper()
	user := name + "-" + env.Namespace
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "boxes", Namespace: env.Namespace},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"test.operon.dev", "actions.operon.dev"}, Resources: []string{"boxes", "actions"},
			Verbs: []string{"create", "get", "list", "watch", "update", "patch", "delete"},
		}},
	}
	w.must(w.admin.Create(w.Context(), role))
	for kind, name := range map[string]string{"ClusterRole": "edit", "Role": "boxes"} {
		w.must(w.admin.Create(w.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: env.Namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}))
	}
	config, sent := rest.CopyConfig(env.Config), &traffic{}
	config.Impersonate.UserName = user
	config.Wrap(sent.count)
	t := &tenant{Client: newClient(w.T, config), namespace: env.Namespace, sent: sent}
	localtest.Eventually(w.T, "the Role of "+user, func(ctx context.Context) error {
		for _, list := range []client.ObjectList{&box.BoxList{}, &corev1.ConfigMapList{}} {
			if err := t.List(ctx, list, client.InNamespace(t.namespace)); err != nil {
				return err
			}
		}
		return nil
	})
	return t
}

// run runs the operator for both namespaces until the test ends.
func (w *world) run(env *localtest.Env) {
	config := rest.CopyConfig(env.Config)
	config.Wrap(w.sent.count)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- operon.Run(ctx, operatorName, config, operon.Config{Namespaces: []string{w.a.namespace, w.b.namespace}},
			operon.API(box.AddToScheme), operon.Manage(shop{w.system, w.turns}, operon.ApplySets()))
	}()
	w.Cleanup(func() {
		w.clear()
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the operator ended with %v", err)
		}
	})
}

// clear deletes the Boxes while the operator runs, and the objects that a tenant's own finalizers retain.
func (w *world) clear() {
	after := outliving{w.T}
	localtest.Eventually(after, "the Boxes to be deleted", func(ctx context.Context) error {
		left := 0
		for _, namespace := range []string{w.a.namespace, w.b.namespace} {
			var boxes box.BoxList
			if err := w.admin.List(ctx, &boxes, client.InNamespace(namespace)); err != nil {
				return err
			}
			left += len(boxes.Items)
			if err := w.admin.DeleteAllOf(ctx, &box.Box{}, client.InNamespace(namespace)); err != nil {
				return err
			}
			if err := w.release(ctx, namespace); err != nil {
				return err
			}
		}
		if left > 0 {
			return fmt.Errorf("%d are left", left)
		}
		return nil
	})
}

// release removes the finalizers of objects that the hostile tenant retains, and of its Boxes with unusable records.
func (w *world) release(ctx context.Context, namespace string) error {
	for _, o := range w.objects(ctx, namespace, &box.BoxList{}, &corev1.ConfigMapList{}) {
		_, isBox := o.(*box.Box)
		if !slices.Contains(o.GetFinalizers(), never) && (!isBox || namespace != w.a.namespace || len(o.GetFinalizers()) == 0) {
			continue
		}
		before := o.DeepCopyObject().(client.Object)
		o.SetFinalizers(nil)
		if err := w.admin.Patch(ctx, o, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// outliving is a test whose context outlives it, for cleanups.
type outliving struct{ *testing.T }

func (o outliving) Context() context.Context { return context.WithoutCancel(o.T.Context()) }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// create creates a Box of a tenant.
func (w *world) create(by *tenant, name string, data map[string]string, edits ...func(*box.Box)) *box.Box {
	w.Helper()
	b := &box.Box{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: by.namespace}, Spec: box.BoxSpec{Data: data}}
	for _, edit := range edits {
		edit(b)
	}
	w.must(by.Create(w.Context(), b))
	return b
}

// change patches an object as a tenant.
func (w *world) change(by *tenant, object client.Object, edit func()) {
	w.Helper()
	w.must(by.Get(w.Context(), client.ObjectKeyFromObject(object), object))
	before := object.DeepCopyObject().(client.Object)
	edit()
	w.must(by.Patch(w.Context(), object, client.MergeFrom(before)))
}

// isReady waits until a Box is ready for its current spec.
func (w *world) isReady(b *box.Box) {
	w.Helper()
	localtest.Eventually(w.T, b.Namespace+"/"+b.Name+" to be ready", func(ctx context.Context) error {
		if err := w.admin.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Status.ObservedGeneration != b.Generation || !meta.IsStatusConditionTrue(b.Status.Conditions, "Ready") {
			return fmt.Errorf("generation %d, status %+v", b.Generation, b.Status)
		}
		return nil
	})
}

// isQuiet waits until the operator has sent no requests for a while.
func (w *world) isQuiet() {
	w.Helper()
	start := time.Now() // the operator may not have begun with the last change
	localtest.Eventually(w.T, "the operator to have finished", func(ctx context.Context) error {
		began := time.Now()
		if err := w.admin.Get(ctx, client.ObjectKey{Name: w.a.namespace}, &corev1.Namespace{}); err != nil {
			return err
		}
		enough := max(quiet, 20*time.Since(began)) // more where a request takes long
		if n, since := w.sent.since(); min(since, time.Since(start)) < enough {
			return fmt.Errorf("it sent %d requests", n)
		}
		return nil
	})
}

// everything returns the objects in a namespace that tenants and the operator create, except Events.
func (w *world) everything(namespace string) []client.Object {
	return w.objects(w.Context(), namespace, &box.BoxList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceList{}, &appsv1.DeploymentList{})
}

func (w *world) objects(ctx context.Context, namespace string, lists ...client.ObjectList) (all []client.Object) {
	for _, list := range lists {
		if err := w.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
			w.Errorf("list %T: %v", list, err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			w.Error(err)
		}
		for _, item := range items {
			all = append(all, item.(client.Object))
		}
	}
	return all
}

// state returns the state of a tenant: the versions of its objects, and its databases.
func (w *world) state(of *tenant, databases []string) []string {
	w.Helper()
	var state []string
	for _, o := range w.everything(of.namespace) {
		state = append(state, fmt.Sprintf("%T %s, version %s", o, o.GetName(), o.GetResourceVersion()))
	}
	var events eventsv1.EventList
	w.must(w.admin.List(w.Context(), &events, client.InNamespace(of.namespace)))
	for _, e := range events.Items {
		if e.Regarding.Kind == "Action" {
			continue // about the victim's own Action
		}
		state = append(state, fmt.Sprintf("Event %s of %s: %s", e.Reason, e.Regarding.Name, e.Note))
	}
	slices.Sort(state)
	return append(state, w.system.all(databases...)...)
}

// leaks returns the objects of a tenant that contain one of the texts.
func (w *world) leaks(to *tenant, texts ...string) []string {
	w.Helper()
	var found []string
	for _, o := range append(w.everything(to.namespace), w.objects(w.Context(), to.namespace, &v1alpha1.ActionList{})...) {
		if secret, ok := o.(*corev1.Secret); ok {
			secret.StringData = map[string]string{}
			for key, value := range secret.Data {
				secret.StringData[key] = string(value)
			}
		}
		o.SetManagedFields(nil)
		content, err := json.Marshal(o)
		w.must(err)
		for _, text := range texts {
			if strings.Contains(string(content), text) {
				found = append(found, fmt.Sprintf("%T %s contains %q", o, o.GetName(), text))
			}
		}
	}
	return found
}

// traffic counts requests by method and resource, except watches and leases.
type traffic struct {
	mu     sync.Mutex
	counts map[string]int
	total  int
	last   time.Time
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (t *traffic) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") == "" && !strings.Contains(r.URL.Path, "/leases") {
			t.add(r.Method + " " + r.URL.Path)
		}
		return next.RoundTrip(r)
	})
}

func (t *traffic) add(request string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[request]++
	t.total++
	t.last = time.Now()
}

// since returns the number of requests, and the time since the last one was sent.
func (t *traffic) since() (int, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total, time.Since(t.last)
}

// all returns how often each request was sent.
func (t *traffic) all() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts)
}
