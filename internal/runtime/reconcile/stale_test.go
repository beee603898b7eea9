package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/runtime/reconcile"
	"github.com/operon-framework/operon/internal/testing/boxtest"
	"github.com/operon-framework/operon/local/localtest"
)

// lag is the delay of a slow watch.
const lag = 300 * time.Millisecond

// slowBody is a delayed stream.
type slowBody struct{ io.ReadCloser }

func (b slowBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	time.Sleep(lag)
	return n, err
}

// behind delays watches of Boxes.
func behind(next http.RoundTripper) http.RoundTripper {
	return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/boxes") {
			response.Body = slowBody{response.Body}
		}
		return response, err
	})
}

// A child is not ready only while the watch does not show the operator's own status write: the reconcile that finds the child
// ready again sees the status before that write, with nothing to change. The final status must be correct anyway.
func TestStatusIsTrueWhereTheWatchIsBehind(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	slow := rest.CopyConfig(w.Config)
	slow.Wrap(behind)
	w.RunAs(slow, boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(boxtest.ConfigMap(b.Name, b.Spec.Data), operon.ReadyWhen(func(live *unstructured.Unstructured) (bool, string) {
			return live.GetAnnotations()["up"] != "no", "it is down"
		}))
		return nil
	}))
	b := w.Box("flips", map[string]string{"a": "1"})
	w.IsReady(b)
	child := boxtest.ConfigMap("flips", nil)
	child.Namespace = w.Namespace
	for range 2 {
		w.Must(boxtest.Pause(t.Context(), 3*lag)) // until the cache shows that it is ready
		w.Change(child, func() { child.Annotations["up"] = "no" })
		w.Ready(b, metav1.ConditionFalse, "ChildNotReady", "it is down")
		w.Change(child, func() { child.Annotations["up"] = "yes" })
		w.IsReady(b)
	}
}

// The operator knows its own writes in every reconcile until the watch shows them, and writes each child once.
func TestAChildIsWrittenOnceWhereTheWatchIsBehind(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/configmaps") }}
	var passes atomic.Int64
	requests, _ := w.RunAs(gate.Config(w.Config), boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		passes.Add(1)
		return boxtest.Copies(b, out)
	}))
	b := w.Box("once", map[string]string{"a": "1"})
	w.IsReady(b)
	gate.Shut()
	defer gate.Open()
	before := len(boxtest.OfChildren(requests.All(true)))
	w.Change(b, func() { b.Spec.Data["a"] = "2" })
	w.Holds(boxtest.ConfigMap(b.Name, nil), map[string]string{"a": "2"})
	for range 4 {
		last := passes.Load()
		w.Poke(b)
		w.Eventually("another reconcile", func(context.Context) error {
			if passes.Load() == last {
				return errors.New("there was none")
			}
			return nil
		})
	}
	if written := boxtest.OfChildren(requests.All(true))[before:]; len(written) != 1 {
		t.Errorf("the child was written by %q", written)
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c != nil {
		t.Errorf("the operator takes its own write for somebody else's: %s", c.Message)
	}
}

// A child that was created by a reconcile but not shown by a watch yet still belongs to the object: it is deleted with the
// object, and when it is no longer composed. Nothing else deletes a ClusterRole.
func TestAChildThatNoWatchHasShownGoesToo(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/clusterroles") }}
	role := func(b *boxtest.Box) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-" + b.Name}}
	}
	w.RunAs(gate.Config(w.Config), boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if b.Spec.Data["wide"] == "yes" {
			out.Child(role(b))
		}
		return nil
	}))
	w.IsReady(w.Box("watched", map[string]string{"wide": "yes"})) // a kind that is watched was read
	gate.Shut()
	defer gate.Open()
	deleted, changed := w.Box("deleted", map[string]string{"wide": "yes"}), w.Box("changed", map[string]string{"wide": "yes"})
	w.IsReady(deleted)
	w.IsReady(changed)
	w.Must(w.Client.Delete(t.Context(), deleted))
	w.Change(changed, func() { changed.Spec.Data["wide"] = "no" })
	w.Gone(role(deleted))
	w.Gone(role(changed))
	w.Gone(deleted)
}

// Children of an object that was deleted without them belong to somebody else, also while the operator still sees the object: its reference does
// not come back, and nothing is undone or deleted.
func TestChildrenThatWereLeftBehindStayWhereTheWatchIsBehind(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	var passes atomic.Int64
	w.RunAs(gate.Config(w.Config), boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		passes.Add(1)
		return boxtest.Copies(b, out)
	}))
	b := w.Box("left", map[string]string{"a": "1"})
	w.IsReady(b)
	child := w.Lives(b.Name)
	gate.Shut()
	defer gate.Open()
	w.Must(w.Client.Delete(t.Context(), b, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	w.Gone(b)
	before := passes.Load()
	w.Change(child, func() { child.Data["a"] = "2" })
	theirs := w.EmptyConfigMap("theirs")
	theirs.Labels = child.Labels // as tools copy them to what they create
	w.Must(w.Client.Create(t.Context(), theirs))
	w.Eventually("a reconcile of the object that is gone", func(context.Context) error {
		if passes.Load() == before {
			return errors.New("there was none")
		}
		return nil
	})
	w.Still("the children are as somebody else left them", func(ctx context.Context) error {
		now := w.EmptyConfigMap(b.Name)
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(now), now); err != nil {
			return err
		}
		if now.Data["a"] != "2" || len(now.OwnerReferences) > 0 {
			return fmt.Errorf("the child has the data %v and the owners %v", now.Data, now.OwnerReferences)
		}
		return w.Client.Get(ctx, client.ObjectKeyFromObject(theirs), theirs)
	})
}

// For an object that is gone, while the cache still shows it with its finalizer, nothing is created that garbage collection would not delete.
func TestNothingIsLeftForAnObjectThatIsGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	first := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-first"}}
	second := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-second"}}
	var more atomic.Bool
	var passes atomic.Int64 // with more
	w.RunAs(gate.Config(w.Config), boxtest.ComposeFunc(func(_ *boxtest.Box, out *operon.Composition) error {
		out.Child(first.DeepCopy())
		if more.Load() {
			passes.Add(1)
			out.Child(second.DeepCopy())
		}
		out.RequeueAfter(50 * time.Millisecond)
		return nil
	}))
	b := w.Box("gone", nil)
	w.Cleanup(func() {
		for _, role := range []*rbacv1.ClusterRole{first, second} {
			w.Must(client.IgnoreNotFound(w.Client.Delete(w.Afterwards().Context(), role)))
		}
	})
	defer gate.Open()
	w.IsReady(b)
	gate.Shut()
	w.Change(b, func() { b.Finalizers = nil })
	w.Must(w.Client.Delete(t.Context(), b))
	w.Gone(b)
	more.Store(true)
	w.Eventually("a reconcile of the object that is gone", func(context.Context) error {
		if passes.Load() == 0 {
			return errors.New("there was none")
		}
		return nil
	})
	w.Still("no ClusterRole is created", func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(second), second.DeepCopy())
		if err == nil {
			return errors.New("it exists")
		}
		return client.IgnoreNotFound(err)
	})
}

// An object of another client that has taken the name of a child is left alone, also while the cache still shows the child.
func TestAnotherObjectHasTheNameOfAChild(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/configmaps") }}
	w.RunAs(gate.Config(w.Config), boxtest.ComposeFunc(boxtest.Copies))
	b := w.Box("taken", map[string]string{"a": "1"})
	w.IsReady(b)
	child := w.Lives(b.Name)
	gate.Shut()
	defer gate.Open()
	w.Must(w.Client.Delete(t.Context(), child))
	w.Gone(child)
	theirs := w.EmptyConfigMap(b.Name)
	theirs.Data = map[string]string{"a": "theirs"}
	w.Must(w.Client.Create(t.Context(), theirs))
	w.Change(b, func() { b.Spec.Data["a"] = "2" })
	w.Ready(b, metav1.ConditionFalse, "Conflict", "exists already and was not created by this operator")
	w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
	if theirs.Data["a"] != "theirs" || len(theirs.OwnerReferences) > 0 || len(theirs.Labels) > 0 {
		t.Errorf("it has the data %v, the labels %v and the owners %v", theirs.Data, theirs.Labels, theirs.OwnerReferences)
	}
}

// waitingCleanup is a composer whose Finalize waits until it is released.
type waitingCleanup struct {
	boxtest.ComposeFunc
	calls    *atomic.Int64
	released *atomic.Bool
}

// Finalize implements operon.Finalizer.
func (c waitingCleanup) Finalize(_ context.Context, _ *boxtest.Box, out *operon.Finalization) error {
	c.calls.Add(1)
	if !c.released.Load() {
		out.Wait("Waits", "waits for something")
		out.RequeueAfter(20 * time.Millisecond)
	}
	return nil
}

// Finalize is not called for an object that only a stale cache shows with its finalizer, because another one of its name may have been created,
// whose children and data it would delete.
func TestOnlyWhatExistsIsCleanedUp(t *testing.T) {
	t.Parallel()
	t.Run("another object has the name", func(t *testing.T) {
		t.Parallel()
		onlyWhatExistsIsCleanedUp(t, nil)
	})
	t.Run("somebody else's finalizer is left", func(t *testing.T) {
		t.Parallel()
		onlyWhatExistsIsCleanedUp(t, []string{"example.com/other"})
	})
}

func onlyWhatExistsIsCleanedUp(t *testing.T, left []string) {
	t.Helper()
	w := newFixture(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	var calls atomic.Int64
	var released atomic.Bool
	w.RunAs(gate.Config(w.Config), waitingCleanup{boxtest.Copies, &calls, &released})
	b := w.Box("again", map[string]string{"a": "1"})
	w.Cleanup(func() { // before the operator stops, which waits for its objects
		gate.Open()
		released.Store(true)
		if len(left) > 0 {
			w.Must(client.IgnoreNotFound(w.Client.Patch(w.Afterwards().Context(), b, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))))
		}
	})
	w.IsReady(b)
	w.Change(b, func() { b.Finalizers = append(b.Finalizers, left...) })
	w.Must(w.Client.Delete(t.Context(), b))
	w.Eventually("the operator cleans up", func(context.Context) error {
		if calls.Load() < 2 {
			return errors.New("it does not")
		}
		return nil
	})
	gate.Shut()
	w.Change(b, func() { b.Finalizers = left })
	if len(left) == 0 {
		w.Gone(b)
		b = w.Box("again", map[string]string{"a": "2"})
	}
	w.Must(boxtest.Pause(t.Context(), boxtest.Stillness)) // a call that has begun may end
	before := calls.Load()
	w.Still("the operator cleans up nothing", func(context.Context) error {
		if now := calls.Load(); now != before {
			return fmt.Errorf("it has called Finalize %d times for an object that is gone", now-before)
		}
		return nil
	})
	gate.Open()
	if len(left) > 0 {
		w.Change(b, func() { b.Finalizers = nil })
		w.Gone(b)
		return
	}
	w.IsReady(b)
	w.Holds(boxtest.ConfigMap(b.Name, nil), map[string]string{"a": "2"})
	w.Must(w.Client.Delete(t.Context(), b))
	w.Eventually("the operator cleans up the other one", func(context.Context) error {
		if calls.Load() == before {
			return errors.New("it does not")
		}
		return nil
	})
}

// A write of the metadata keeps the finalizers that somebody else has set since the version in the cache.
func TestFinalizersOfOthersAreKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/boxes") }}
	var wide atomic.Bool
	w.RunAs(gate.Config(w.Config), boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		if wide.Load() { // garbage collection does not delete it, so it needs a finalizer
			out.Child(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-" + b.Name}})
		}
		return boxtest.Copies(b, out)
	}))
	b := w.Box("kept", map[string]string{"a": "1"})
	w.Cleanup(func() {
		gate.Open()
		w.Must(client.IgnoreNotFound(w.Client.Patch(w.Afterwards().Context(), b, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))))
	})
	w.IsReady(b)
	child := w.Lives(b.Name)
	gate.Shut()
	w.Change(b, func() { b.Finalizers = append(b.Finalizers, "example.com/other") })
	wide.Store(true)
	w.Change(child, func() { child.Data["a"] = "2" }) // leads to a reconcile of the object in the cache
	w.Eventually("the finalizer of the operator is there", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil || controllerutil.ContainsFinalizer(b, reconcile.Finalizer) {
			return err
		}
		return errors.New("it is missing")
	})
	if !controllerutil.ContainsFinalizer(b, "example.com/other") {
		t.Errorf("the finalizers are %q: that of somebody else was removed", b.Finalizers)
	}
}
