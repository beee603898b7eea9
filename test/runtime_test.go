package operon_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
)

// stillness is how long a test checks that nothing happens. Reconciles take milliseconds.
const stillness = time.Second

func TestConvergedObjectCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var composed atomic.Int64
	counting := compose(func(b *Box, out *operon.Composition) error {
		composed.Add(1)
		// The server stores both differently: stringData, and a Service without defaults.
		out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, StringData: b.Spec.Data})
		out.Child(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: b.Name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"a": "b"}},
		})
		return nil
	})
	requests, _ := w.run(counting)
	b := w.box("calm", map[string]string{"a": "1"})
	w.isReady(b)
	w.event("Created") // each event is sent separately, in any order
	w.event("Ready")
	before, passes := requests.all(false), composed.Load()
	w.change(b, func() { b.Annotations = map[string]string{"poke": "1"} })
	w.eventually("another reconcile", func(context.Context) error {
		if composed.Load() == passes {
			return errors.New("none yet")
		}
		return nil
	})
	localtest.Always(t, stillness, "no request", func(context.Context) error {
		if now := requests.all(false); len(now) > len(before) {
			return fmt.Errorf("sent %q", now[len(before):])
		}
		return nil
	})
}

func TestRestartWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, stop := w.run(compose(copies))
	b := w.box("calm", map[string]string{"a": "1"})
	w.isReady(b)
	stop()
	var composed atomic.Int64
	requests, _ := w.run(compose(func(b *Box, out *operon.Composition) error {
		composed.Add(1)
		return copies(b, out)
	}))
	w.eventually("a reconcile", func(context.Context) error {
		if composed.Load() == 0 {
			return errors.New("none yet")
		}
		return nil
	})
	localtest.Always(t, stillness, "no write", func(context.Context) error {
		if writes := requests.all(true); len(writes) > 0 {
			return fmt.Errorf("sent %q", writes)
		}
		return nil
	})
}

func TestDriftIsPutBackAndForeignFieldsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(copies))
	b := w.box("drift", map[string]string{"a": "1"})
	w.isReady(b)
	child := config(b.Name, nil)
	child.Namespace = w.Namespace
	w.change(child, func() { child.Data["a"], child.Data["theirs"] = "2", "3" })
	w.holds(child, map[string]string{"a": "1", "theirs": "3"})
	w.event("Repaired", "data.a", "ConfigMap drift")
}

// holds waits until a ConfigMap has the data.
func (w *world) holds(child *corev1.ConfigMap, want map[string]string) {
	w.Helper()
	child.Namespace = w.Namespace
	w.eventually(fmt.Sprintf("%s to hold %v", child.Name, want), func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
			return err
		}
		if !maps.Equal(child.Data, want) {
			return fmt.Errorf("it holds %v", child.Data)
		}
		return nil
	})
}

func TestFieldNoLongerComposedGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(copies))
	b := w.box("less", map[string]string{"a": "1", "b": "2"})
	w.isReady(b)
	w.change(b, func() { b.Spec.Data = map[string]string{"a": "1"} })
	w.change(b, func() { delete(b.Spec.Data, "b") })
	w.holds(config(b.Name, nil), map[string]string{"a": "1"})
}

func TestDeletedChildComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(copies))
	b := w.box("again", map[string]string{"a": "1"})
	w.isReady(b)
	child := config(b.Name, nil)
	child.Namespace = w.Namespace
	w.must(w.client.Delete(t.Context(), child))
	w.holds(child, b.Spec.Data)
	w.event("Recreated", "ConfigMap again")
}

func TestChildNoLongerComposedIsPrunedWithItsKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(func(b *Box, out *operon.Composition) error {
		if b.Spec.Data["secret"] != "" {
			out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}})
		}
		return copies(b, out)
	}))
	b := w.box("prune", map[string]string{"secret": "yes"})
	w.isReady(b)
	w.change(b, func() { b.Spec.Data["secret"] = "" })
	w.gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: w.Namespace}})
	w.event("Pruned", "Secret prune")
	w.holds(config(b.Name, nil), map[string]string{"secret": ""})
}

func (w *world) gone(object client.Object) {
	w.Helper()
	w.eventually(object.GetName()+" to go", func(ctx context.Context) error {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there, error %w", err)
	})
}

func TestForeignObjectIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs := config("taken", map[string]string{"a": "theirs"})
	theirs.Namespace = w.Namespace
	theirs.Labels = map[string]string{"app.kubernetes.io/managed-by": "somebody"}
	w.must(w.client.Create(t.Context(), theirs))
	w.run(compose(copies))
	b := w.box("taken", map[string]string{"a": "mine"})
	w.ready(b, metav1.ConditionFalse, "Conflict", "managed by somebody")
	w.holds(theirs, map[string]string{"a": "theirs"})
}

func TestReadsAreTracked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	labels := client.MatchingLabels{"read-by": "a-box"}
	w.run(observing{copies, func(ctx context.Context, b *Box, seen *operon.Observed) error {
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
	b := w.box("reader", nil)
	w.isReady(b)
	other := config("other", nil)
	other.Namespace, other.Labels = w.Namespace, labels
	w.must(w.client.Create(t.Context(), other))
	w.sees(b, "other")
	w.must(w.client.Delete(t.Context(), other))
	w.sees(b)
}

func (w *world) sees(b *Box, want ...string) {
	w.Helper()
	w.eventually(fmt.Sprintf("status.seen to be %q", want), func(ctx context.Context) error {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if !slices.Equal(b.Status.Seen, want) {
			return fmt.Errorf("it is %q", b.Status.Seen)
		}
		return nil
	})
}

func TestListWithoutLabelsIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(observing{copies, func(ctx context.Context, _ *Box, seen *operon.Observed) error {
		return seen.List(ctx, &corev1.SecretList{}, nil)
	}})
	w.ready(w.box("greedy", nil), metav1.ConditionFalse, "UnboundedRead", "client.MatchingLabels")
}

func TestPanicIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(func(b *Box, out *operon.Composition) error {
		if b.Name == "bad" {
			panic("no such thing")
		}
		return copies(b, out)
	}))
	w.ready(w.box("bad", nil), metav1.ConditionFalse, "Panicked", "no such thing")
	w.event("Panicked", "no such thing")
	w.isReady(w.box("good", nil))
}

func TestChildBeyondGarbageCollectionGoesToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := "box-" + w.Namespace
	w.run(compose(func(_ *Box, out *operon.Composition) error {
		out.Child(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}}) // a cluster-scoped object has no namespace
		return nil
	}))
	b := w.box("wide", nil)
	w.isReady(b)
	if !slices.Contains(b.Finalizers, "operon.dev/children") {
		t.Errorf("finalizers %q", b.Finalizers)
	}
	w.must(w.client.Delete(t.Context(), b))
	w.gone(b)
	w.gone(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func TestNoFinalizerWhereGarbageCollectionIsEnough(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(copies))
	b := w.box("narrow", nil)
	w.isReady(b)
	if len(b.Finalizers) > 0 {
		t.Errorf("finalizers %q", b.Finalizers)
	}
	w.must(w.client.Delete(t.Context(), b))
	w.gone(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.Name, Namespace: w.Namespace}})
}

func TestMissingPermissionIsTold(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"list", "watch", "patch"} {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			role := w.mayAllBut(missing)
			w.may("limited", "create", "test.operon.dev", "boxes")
			limited := rest.CopyConfig(w.Config)
			limited.Impersonate.UserName = "limited"
			w.runAs(limited, compose(copies))
			b := w.box("denied", nil)
			w.ready(b, metav1.ConditionFalse, "PermissionDenied", fmt.Sprintf(`User "limited" cannot %s resource "configmaps"`, missing))
			w.event("PermissionDenied", missing)
			w.change(role, func() { role.Rules[1].Verbs = []string{"*"} })
			w.isReady(b)
		})
	}
}

// may waits until a user has a permission in the test's namespace: an API server receives a Role with a delay.
func (w *world) may(user, verb, group, resource string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s to be let %s %s", user, verb, resource), func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: w.Namespace, Verb: verb, Group: group, Resource: resource},
		}}
		if err := w.client.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			return fmt.Errorf("it is not: %s", review.Status.Reason)
		}
		return nil
	})
}

// mayAllBut gives the user limited all permissions for Boxes, and all except one verb for ConfigMaps.
func (w *world) mayAllBut(missing string) *rbacv1.Role {
	w.Helper()
	verbs := slices.DeleteFunc([]string{"get", "list", "watch", "create", "patch", "delete"}, func(v string) bool { return v == missing })
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "limited", Namespace: w.Namespace},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"test.operon.dev", "events.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs},
		},
	}
	w.must(w.client.Create(w.Context(), role))
	w.must(w.client.Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "limited", Namespace: w.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "limited"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "limited"}},
	}))
	return role
}

func TestChildThatIsNotReadyIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(compose(func(b *Box, out *operon.Composition) error {
		out.Child(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: b.Name, Annotations: map[string]string{"sim.operon.dev/fail": "never-ready"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/any:1"}}},
		})
		return nil
	}))
	w.ready(w.box("waiting", nil), metav1.ConditionFalse, "ChildNotReady", "Pod waiting")
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		parts []operon.Option
		want  string
	}{
		{"nothing to manage", nil, "manages nothing"},
		{"a kind that is not registered", []operon.Option{operon.Manage(compose(copies))}, "operon.API"},
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
	w := newWorld(t)
	composing, stopped := make(chan struct{}), make(chan struct{})
	_, stop := w.run(compose(func(b *Box, out *operon.Composition) error {
		close(composing)
		<-stopped
		return copies(b, out)
	}))
	b := w.box("last", map[string]string{"a": "1"})
	localtest.Receive(t, "a reconcile", composing)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop()
	}()
	w.still("the operator to wait", func(context.Context) error {
		select {
		case <-ended:
			return errors.New("it has ended")
		default:
			return nil
		}
	})
	close(stopped)
	localtest.Receive(t, "the operator to end", ended)
	w.isReady(b)
	w.holds(config("last", nil), map[string]string{"a": "1"})
}

// A "not found" response to a status write does not mean that an existing object was deleted. The write is retried.
func TestAStatusThatIsNotFoundIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var refused atomic.Bool
	config := rest.CopyConfig(w.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/boxes/here/status") && refused.CompareAndSwap(false, true) {
				r = r.Clone(r.Context())
				r.URL.Path = strings.Replace(r.URL.Path, "/boxes/here", "/boxes/elsewhere", 1)
			}
			return next.RoundTrip(r)
		})
	})
	w.runAs(config, compose(copies))
	w.isReady(w.box("here", map[string]string{"a": "1"}))
	if !refused.Load() {
		t.Error("no status was refused")
	}
}
