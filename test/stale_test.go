package operon_test

import (
	"context"
	"errors"
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
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/local/localtest"
)

// lag is by how much a slow watch is behind.
const lag = 300 * time.Millisecond

// slowBody is a stream that comes late.
type slowBody struct{ io.ReadCloser }

func (b slowBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	time.Sleep(lag)
	return n, err
}

// behind lets watches of Boxes come late.
func behind(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil && r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/boxes") {
			response.Body = slowBody{response.Body}
		}
		return response, err
	})
}

// A child is down only for as long as the watch is behind the operator's own write of the
// status: the reconcile that finds it up again sees the status of before that write, with
// nothing to change. What stands in the status in the end is true all the same.
func TestStatusIsTrueWhereTheWatchIsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slow := rest.CopyConfig(w.Config)
	slow.Wrap(behind)
	w.runAs(slow, compose(func(b *Box, out *operon.Composition) error {
		out.Child(config(b.Name, b.Spec.Data), operon.ReadyWhen(func(live *unstructured.Unstructured) (bool, string) {
			return live.GetAnnotations()["up"] != "no", "it is down"
		}))
		return nil
	}))
	b := w.box("flips", map[string]string{"a": "1"})
	w.isReady(b)
	child := config("flips", nil)
	child.Namespace = w.Namespace
	for range 2 {
		w.must(pause(t.Context(), 3*lag)) // until the cache shows that it is ready
		w.change(child, func() { child.Annotations["up"] = "no" })
		w.ready(b, metav1.ConditionFalse, "ChildNotReady", "it is down")
		w.change(child, func() { child.Annotations["up"] = "yes" })
		w.isReady(b)
	}
}

// The operator knows what it wrote, in every reconcile until the watch shows it, and writes it once.
func TestAChildIsWrittenOnceWhereTheWatchIsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/configmaps") }}
	var passes atomic.Int64
	requests, _ := w.runAs(gate.Config(w.Config), compose(func(b *Box, out *operon.Composition) error {
		passes.Add(1)
		return copies(b, out)
	}))
	b := w.box("once", map[string]string{"a": "1"})
	w.isReady(b)
	gate.Shut()
	defer gate.Open()
	before := len(ofChildren(requests.all(true)))
	w.change(b, func() { b.Spec.Data["a"] = "2" })
	w.holds(config(b.Name, nil), map[string]string{"a": "2"})
	for range 4 {
		last := passes.Load()
		w.poke(b)
		w.eventually("another reconcile", func(context.Context) error {
			if passes.Load() == last {
				return errors.New("there was none")
			}
			return nil
		})
	}
	if written := ofChildren(requests.all(true))[before:]; len(written) != 1 {
		t.Errorf("the child was written by %q", written)
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, "Contested"); c != nil {
		t.Errorf("the operator takes its own write for somebody else's: %s", c.Message)
	}
}

// What a reconcile made and no watch has shown yet is the object's all the same: it goes with the object, and when it is
// composed no more. Nobody else removes a ClusterRole.
func TestAChildThatNoWatchHasShownGoesToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := &localtest.Gate{Of: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/clusterroles") }}
	role := func(b *Box) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace + "-" + b.Name}}
	}
	w.runAs(gate.Config(w.Config), compose(func(b *Box, out *operon.Composition) error {
		if b.Spec.Data["wide"] == "yes" {
			out.Child(role(b))
		}
		return nil
	}))
	w.isReady(w.box("watched", map[string]string{"wide": "yes"})) // what is watched was read
	gate.Shut()
	defer gate.Open()
	deleted, changed := w.box("deleted", map[string]string{"wide": "yes"}), w.box("changed", map[string]string{"wide": "yes"})
	w.isReady(deleted)
	w.isReady(changed)
	w.must(w.client.Delete(t.Context(), deleted))
	w.change(changed, func() { changed.Spec.Data["wide"] = "no" })
	w.gone(role(deleted))
	w.gone(role(changed))
	w.gone(deleted)
}
