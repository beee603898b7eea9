package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

func TestConvergedObjectCostsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var composed atomic.Int64
	counting := boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		composed.Add(1)
		// The server stores both differently: stringData, and a Service without defaults.
		out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, StringData: b.Spec.Data})
		out.Child(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: b.Name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"a": "b"}},
		})
		return nil
	})
	requests, _ := w.Run(counting)
	b := w.Box("calm", map[string]string{"a": "1"})
	w.IsReady(b)
	w.Event("Created") // each event is sent separately, in any order
	w.Event("Ready")
	before, passes := requests.All(false), composed.Load()
	w.Change(b, func() { b.Annotations = map[string]string{"poke": "1"} })
	w.Eventually("another reconcile", func(context.Context) error {
		if composed.Load() == passes {
			return errors.New("none yet")
		}
		return nil
	})
	localtest.Always(t, boxtest.Stillness, "no request", func(context.Context) error {
		if now := requests.All(false); len(now) > len(before) {
			return fmt.Errorf("sent %q", now[len(before):])
		}
		return nil
	})
}

func TestRestartWritesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, stop := w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("calm", map[string]string{"a": "1"})
	w.IsReady(b)
	stop()
	var composed atomic.Int64
	requests, _ := w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		composed.Add(1)
		return boxtest.Copies(b, out)
	}))
	w.Eventually("a reconcile", func(context.Context) error {
		if composed.Load() == 0 {
			return errors.New("none yet")
		}
		return nil
	})
	localtest.Always(t, boxtest.Stillness, "no write", func(context.Context) error {
		if writes := requests.All(true); len(writes) > 0 {
			return fmt.Errorf("sent %q", writes)
		}
		return nil
	})
}

func TestDriftIsPutBackAndForeignFieldsStay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("drift", map[string]string{"a": "1"})
	w.IsReady(b)
	child := boxtest.ConfigMap(b.Name, nil)
	child.Namespace = w.Namespace
	w.Change(child, func() { child.Data["a"], child.Data["theirs"] = "2", "3" })
	w.Holds(child, map[string]string{"a": "1", "theirs": "3"})
	w.Event("Repaired", "data.a", "ConfigMap drift")
}

func TestFieldNoLongerComposedGoes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("less", map[string]string{"a": "1", "b": "2"})
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data = map[string]string{"a": "1"} })
	w.Change(b, func() { delete(b.Spec.Data, "b") })
	w.Holds(boxtest.ConfigMap(b.Name, nil), map[string]string{"a": "1"})
}

func TestDeletedChildComesBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("again", map[string]string{"a": "1"})
	w.IsReady(b)
	child := boxtest.ConfigMap(b.Name, nil)
	child.Namespace = w.Namespace
	w.Must(w.Client.Delete(t.Context(), child))
	w.Holds(child, b.Spec.Data)
	w.Event("Recreated", "ConfigMap again")
}

func TestChildNoLongerComposedIsPrunedWithItsKind(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if b.Spec.Data["secret"] != "" {
			out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}})
		}
		return boxtest.Copies(b, out)
	}))
	b := w.Box("prune", map[string]string{"secret": "yes"})
	w.IsReady(b)
	w.Change(b, func() { b.Spec.Data["secret"] = "" })
	w.Gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: w.Namespace}})
	w.Event("Pruned", "Secret prune")
	w.Holds(boxtest.ConfigMap(b.Name, nil), map[string]string{"secret": ""})
}

func TestForeignObjectIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	theirs := boxtest.ConfigMap("taken", map[string]string{"a": "theirs"})
	theirs.Namespace = w.Namespace
	theirs.Labels = map[string]string{"app.kubernetes.io/managed-by": "somebody"}
	w.Must(w.Client.Create(t.Context(), theirs))
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("taken", map[string]string{"a": "mine"})
	w.Ready(b, metav1.ConditionFalse, "Conflict", "managed by somebody")
	w.Holds(theirs, map[string]string{"a": "theirs"})
}

func TestReadsAreTracked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	labels := client.MatchingLabels{"read-by": "a-box"}
	w.Run(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, b *boxtest.Box, seen *operon.Observed) error {
		var list corev1.ConfigMapList
		if err := seen.List(ctx, &list, labels); err != nil {
			return err
		}
		b.Status.Seen = nil
		for _, found := range list.Items {
			b.Status.Seen = append(b.Status.Seen, found.Name)
		}
		return nil
	}})
	b := w.Box("reader", nil)
	w.IsReady(b)
	other := boxtest.ConfigMap("other", nil)
	other.Namespace, other.Labels = w.Namespace, labels
	w.Must(w.Client.Create(t.Context(), other))
	w.Sees(b, "other")
	w.Must(w.Client.Delete(t.Context(), other))
	w.Sees(b)
}

func TestListWithoutLabelsIsRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, _ *boxtest.Box, seen *operon.Observed) error {
		return seen.List(ctx, &corev1.SecretList{}, nil)
	}})
	w.Ready(w.Box("greedy", nil), metav1.ConditionFalse, "UnboundedRead", "client.MatchingLabels")
}

func TestPanicIsTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if b.Name == "bad" {
			panic("no such thing")
		}
		return boxtest.Copies(b, out)
	}))
	w.Ready(w.Box("bad", nil), metav1.ConditionFalse, "Panicked", "no such thing")
	w.Event("Panicked", "no such thing")
	w.IsReady(w.Box("good", nil))
}

func TestChildBeyondGarbageCollectionGoesToo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	name := "box-" + w.Namespace
	w.Run(boxtest.ComposeFunc(func(_ *boxtest.Box, out *operon.Composition) error {
		out.Child(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}}) // a cluster-scoped object has no namespace
		return nil
	}))
	b := w.Box("wide", nil)
	w.IsReady(b)
	if !slices.Contains(b.Finalizers, "operon.dev/children") {
		t.Errorf("finalizers %q", b.Finalizers)
	}
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(b)
	w.Gone(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func TestNoFinalizerWhereGarbageCollectionIsEnough(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("narrow", nil)
	w.IsReady(b)
	if len(b.Finalizers) > 0 {
		t.Errorf("finalizers %q", b.Finalizers)
	}
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: w.Namespace}})
}

// The verb list is not needed on API servers that send the existing objects with a watch. TestStartWithoutPermission of package watches tests
// others.
func TestMissingPermissionIsTold(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"watch", "patch"} {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			role := w.MayAllBut(missing)
			w.May("limited", "create", "test.operon.dev", "boxes")
			limited := rest.CopyConfig(w.Config)
			limited.Impersonate.UserName = "limited"
			w.RunAs(limited, boxtest.ComposeFunc(boxtest.Copies))
			b := w.Box("denied", nil)
			w.Ready(b, metav1.ConditionFalse, "PermissionDenied", fmt.Sprintf(`User "limited" cannot %s resource "configmaps"`, missing))
			w.Event("PermissionDenied", missing)
			w.Change(role, func() { role.Rules[1].Verbs = []string{"*"} })
			w.IsReady(b)
		})
	}
}

func TestChildThatIsNotReadyIsNamed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: b.Name, Annotations: map[string]string{"sim.operon.dev/fail": "never-ready"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/any:1"}}},
		})
		return nil
	}))
	w.Ready(w.Box("waiting", nil), metav1.ConditionFalse, "ChildNotReady", "Pod waiting")
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		parts []operon.Option
		want  string
	}{
		{"nothing to manage", nil, "manages nothing"},
		{"a kind that is not registered", []operon.Option{operon.Manage(boxtest.ComposeFunc(boxtest.Copies))}, "operon.API"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := operon.Run(t.Context(), "x", &rest.Config{Host: "127.0.0.1:1"}, operon.Config{}, test.parts...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// A reconcile that is running when the operator is stopped is completed: its writes and its status are not interrupted, and no
// failure is reported.
func TestAReconcileFinishesWhenTheOperatorStops(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	composing, stopped := make(chan struct{}), make(chan struct{})
	_, stop := w.Run(boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		close(composing)
		<-stopped
		return boxtest.Copies(b, out)
	}))
	b := w.Box("last", map[string]string{"a": "1"})
	localtest.Receive(t, "a reconcile", composing)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop()
	}()
	w.Still("the operator to wait", func(context.Context) error {
		select {
		case <-ended:
			return errors.New("it has ended")
		default:
			return nil
		}
	})
	close(stopped)
	localtest.Receive(t, "the operator to end", ended)
	w.IsReady(b)
	w.Holds(boxtest.ConfigMap("last", nil), map[string]string{"a": "1"})
}

// A "not found" response to a status write does not mean that an existing object was deleted. The write is retried.
func TestAStatusThatIsNotFoundIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var refused atomic.Bool
	config := rest.CopyConfig(w.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/boxes/here/status") && refused.CompareAndSwap(false, true) {
				r = r.Clone(r.Context())
				r.URL.Path = strings.Replace(r.URL.Path, "/boxes/here", "/boxes/elsewhere", 1)
			}
			return next.RoundTrip(r)
		})
	})
	w.RunAs(config, boxtest.ComposeFunc(boxtest.Copies))
	w.IsReady(w.Box("here", map[string]string{"a": "1"}))
	if !refused.Load() {
		t.Error("no status was refused")
	}
}
