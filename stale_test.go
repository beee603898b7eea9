package operon_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon"
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
