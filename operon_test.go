package operon_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local"
	"github.com/operon-framework/operon/local/localtest"
)

// bench is an operator of Stacks in a namespace of its own, and a client beside it.
type bench struct {
	*localtest.Env
	client.Client
	writes atomic.Int64
	stop   func()
}

// start starts an operator of the test's namespace on the cluster that tests share.
func start(t *testing.T) *bench {
	t.Helper()
	b := prepare(t, localtest.Shared(t))
	b.run(t, b.Config, b.Namespace)
	return b
}

func prepare(t *testing.T, env *localtest.Env) *bench {
	t.Helper()
	b := &bench{Env: env, stop: func() {}}
	b.InstallCRDs(t, "testdata")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, addStacks} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if b.Client, err = client.New(b.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return b
}

// run starts the operator with its writes counted. It is stopped at the latest when the
// test ends.
func (b *bench) run(t *testing.T, config *rest.Config, namespace string) {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events") {
				b.writes.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended, ready := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- operon.Run(ctx, "stack-operator", config, operon.Config{Namespace: namespace, Ready: func() { close(ready) }},
			operon.API(addStacks), operon.Manage(stacks{}))
	}()
	b.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended: %v", err)
		}
		b.stop = func() {}
	}
	t.Cleanup(func() { b.stop() })
	<-ready
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (b *bench) create(t *testing.T, name string, spec StackSpec) *Stack {
	t.Helper()
	s := &Stack{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.Namespace}, Spec: spec}
	if err := b.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (b *bench) patch(t *testing.T, object client.Object, patch string) {
	t.Helper()
	if err := b.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("someone")); err != nil {
		t.Fatal(err)
	}
}

// awaitReady waits until Ready has the reason for the present generation.
func (b *bench) awaitReady(t *testing.T, name, reason string) *Stack {
	t.Helper()
	s := &Stack{}
	localtest.Eventually(t, "Ready of stack "+name+" is "+reason, func(ctx context.Context) error {
		if err := b.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, s); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(s.Status.Conditions, "Ready")
		if ready == nil || ready.Reason != reason || s.Status.ObservedGeneration != s.Generation {
			return fmt.Errorf("status is %+v", s.Status)
		}
		return nil
	})
	return s
}

func (b *bench) awaitEvent(t *testing.T, reason, text string) {
	t.Helper()
	localtest.Eventually(t, "an event "+reason+" with "+text, func(ctx context.Context) error {
		var events eventsv1.EventList
		if err := b.List(ctx, &events, client.InNamespace(b.Namespace)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Reason == reason && strings.Contains(e.Note, text) {
				return nil
			}
		}
		return fmt.Errorf("there are %d others", len(events.Items))
	})
}

func TestConvergedCostsNoWrite(t *testing.T) {
	t.Parallel()
	b := start(t)
	s := b.create(t, "calm", StackSpec{Maps: []string{"a", "b"}, Text: "t", Size: 2})
	b.awaitReady(t, "calm", "Ready")
	localtest.Eventually(t, "both pods in the status", func(ctx context.Context) error {
		if err := b.Get(ctx, client.ObjectKeyFromObject(s), s); err != nil || s.Status.Pods != 2 {
			return fmt.Errorf("%d pods, %w", s.Status.Pods, err)
		}
		return nil
	})
	b.stop()
	b.writes.Store(0)
	b.run(t, b.Config, b.Namespace) // reconciles everything anew
	for i := range 10 {
		b.patch(t, s, fmt.Sprintf(`{"metadata":{"annotations":{"forced":"%d"}}}`, i))
	}
	// A change that does need a write comes after the others in the queue.
	b.patch(t, s, `{"spec":{"text":"u"}}`)
	localtest.Eventually(t, "the change is applied", func(ctx context.Context) error {
		var m corev1.ConfigMap
		if err := b.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: "b"}, &m); err != nil || m.Data["text"] != "u" {
			return fmt.Errorf("%v, %w", m.Data, err)
		}
		return nil
	})
	b.awaitReady(t, "calm", "Ready")
	if got := b.writes.Load(); got != 3 {
		t.Errorf("%d writes, want 3: two ConfigMaps and the status", got)
	}
}

func TestDriftIsPutBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.create(t, "drift", StackSpec{Maps: []string{"m"}, Text: "t", Size: 1})
	b.awaitReady(t, "drift", "Ready")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "drift", Namespace: b.Namespace}}
	b.patch(t, d, `{"metadata":{"labels":{"team":"blue"}},"spec":{"replicas":3}}`)
	b.awaitEvent(t, "Repaired", "spec.replicas (changed by someone)")
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	if *d.Spec.Replicas != 1 || d.Labels["team"] != "blue" {
		t.Errorf("replicas %d, labels %v; want 1, and the foreign label left alone", *d.Spec.Replicas, d.Labels)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: b.Namespace}}
	if err := b.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	b.awaitEvent(t, "Recreated", "ConfigMap m was deleted")
	b.awaitReady(t, "drift", "Ready")
}

func TestWhatIsNoLongerComposedGoes(t *testing.T) {
	t.Parallel()
	b := start(t)
	s := b.create(t, "prune", StackSpec{Maps: []string{"kept", "dropped"}})
	b.awaitReady(t, "prune", "Ready")
	b.patch(t, s, `{"spec":{"maps":["kept"]}}`)
	b.awaitGone(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dropped", Namespace: b.Namespace}})
	b.awaitReady(t, "prune", "Ready")
	if err := b.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.awaitGone(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: b.Namespace}})
}

func (b *bench) awaitGone(t *testing.T, object client.Object) {
	t.Helper()
	localtest.Eventually(t, object.GetName()+" is gone", func(ctx context.Context) error {
		err := b.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil {
			return fmt.Errorf("it is there, deleted at %v", object.GetDeletionTimestamp())
		}
		return client.IgnoreNotFound(err)
	})
}

func TestNothingForeignIsTaken(t *testing.T) {
	t.Parallel()
	b := start(t)
	foreign := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs", Namespace: b.Namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "helm"}},
		Data:       map[string]string{"text": "theirs"},
	}
	if err := b.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	b.create(t, "greedy", StackSpec{Maps: []string{"theirs", "mine"}, Text: "ours"})
	s := b.awaitReady(t, "greedy", "Conflict")
	if ready := meta.FindStatusCondition(s.Status.Conditions, "Ready"); !strings.Contains(ready.Message, "managed by helm") {
		t.Errorf("message %q does not name the owner", ready.Message)
	}
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
		t.Fatal(err)
	}
	if foreign.Data["text"] != "theirs" {
		t.Errorf("the foreign object was changed to %v", foreign.Data)
	}
}

func TestPanicStopsOneObject(t *testing.T) {
	t.Parallel()
	b := start(t)
	s := b.create(t, "bad", StackSpec{Panic: true})
	b.create(t, "good", StackSpec{Maps: []string{"good"}})
	b.awaitReady(t, "bad", "Panicked")
	b.awaitReady(t, "good", "Ready")
	b.patch(t, s, `{"spec":{"panic":false}}`)
	b.awaitReady(t, "bad", "Ready")
}

func TestPause(t *testing.T) {
	t.Parallel()
	b := start(t)
	s := b.create(t, "paused", StackSpec{Maps: []string{"p"}, Text: "1"})
	b.awaitReady(t, "paused", "Ready")
	b.patch(t, s, `{"metadata":{"annotations":{"operon.dev/paused":"true"}},"spec":{"text":"2"}}`)
	b.create(t, "later", StackSpec{Maps: []string{"q"}}) // reconciled after the paused one
	b.awaitReady(t, "later", "Ready")
	m := &corev1.ConfigMap{}
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: b.Namespace, Name: "p"}, m); err != nil || m.Data["text"] != "1" {
		t.Errorf("a paused object was worked on: %v, %v", m.Data, err)
	}
	b.patch(t, s, `{"metadata":{"annotations":{"operon.dev/paused":null}}}`)
	b.awaitReady(t, "paused", "Ready")
}

func TestMissingPermissionIsNamed(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.stop()
	b.grant(t, "limited", []rbacv1.PolicyRule{
		{APIGroups: []string{"runtime.operon.dev"}, Resources: []string{"stacks", "stacks/status"}, Verbs: []string{"*"}},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}},
	})
	limited := rest.CopyConfig(b.Config)
	limited.Impersonate = rest.ImpersonationConfig{UserName: "limited"}
	b.run(t, limited, b.Namespace)
	b.create(t, "refused", StackSpec{Maps: []string{"m"}})
	s := b.awaitReady(t, "refused", "PermissionDenied")
	want := `User "limited" cannot patch resource "configmaps"`
	if ready := meta.FindStatusCondition(s.Status.Conditions, "Ready"); !strings.Contains(ready.Message, want) {
		t.Errorf("message %q, want one with %q", ready.Message, want)
	}
}

func (b *bench) grant(t *testing.T, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	named := metav1.ObjectMeta{Name: user, Namespace: b.Namespace}
	role := &rbacv1.Role{ObjectMeta: named, Rules: rules}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: named,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := b.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// A child in another namespace is beyond garbage collection.
func TestChildElsewhereIsRemoved(t *testing.T) {
	t.Parallel()
	b := prepare(t, localtest.New(t, local.Options{}))
	elsewhere := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}
	if err := b.Create(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	b.run(t, b.Config, "")
	s := b.create(t, "abroad", StackSpec{Elsewhere: elsewhere.Name})
	b.awaitReady(t, "abroad", "Ready")
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "abroad", Namespace: elsewhere.Name}}
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(child), child); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.awaitGone(t, s)
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(child), child); !apierrors.IsNotFound(err) {
		t.Errorf("the child elsewhere was left behind: %v", err)
	}
}

func TestRunNeedsSomethingToManage(t *testing.T) {
	t.Parallel()
	err := operon.Run(t.Context(), "empty", &rest.Config{}, operon.Config{})
	if err == nil || !strings.Contains(err.Error(), "operon.Manage") {
		t.Errorf("error %v, want one that says what to give", err)
	}
}
