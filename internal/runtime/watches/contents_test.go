package watches_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// The content of a child without a state, such as a Secret, does not reach the operator: neither in answers to its writes, nor by its watches, nor
// when it starts again.
func TestContentsOfSecretsAreNotRequested(t *testing.T) {
	t.Parallel()
	const content = "content of somebody else"
	w := newFixture(t)
	compose := boxtest.ComposeFunc(func(b *boxtest.Box, out *operon.Composition) error {
		out.Child(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, Data: map[string][]byte{"text": []byte(b.Spec.Data["text"])}})
		return nil
	})
	config, received := receivedBy(w.Config)
	requests, stop := w.RunAs(config, compose)
	b, secret := w.Box("a", map[string]string{"text": "1"}), &corev1.Secret{ObjectMeta: w.Meta("a")}
	w.IsReady(b)
	w.Change(secret, func() { secret.Data["more"] = []byte(content) })
	w.Change(b, func() { b.Spec.Data["text"] = "2" })
	w.IsReady(b)
	w.Change(secret, func() { secret.Annotations = map[string]string{"seen": "by the first operator"} })
	w.Eventually("the operator sees the annotation", received.Has("by the first operator"))
	w.Quiet(requests.Writes)
	stop()

	requests, _ = w.RunAs(config, compose)
	w.Change(b, func() { b.Spec.Data["text"] = "3" })
	w.IsReady(b)
	w.Change(secret, func() { secret.Annotations = map[string]string{"seen": "by the second operator"} })
	w.Eventually("the operator sees the annotation", received.Has("by the second operator"))
	w.Quiet(requests.Writes)
	if string(secret.Data["text"]) != "3" || string(secret.Data["more"]) != content {
		t.Errorf("the Secret has %s", secret.Data)
	}
	for _, form := range []string{content, base64.StdEncoding.EncodeToString([]byte(content))} { // in protobuf and in JSON
		if strings.Contains(received.String(), form) {
			t.Errorf("the operator has received %q", form)
		}
	}
}

// A selector that matches nothing selects nothing: its text is that of one that matches everything.
func TestASelectorThatMatchesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	limited, watches := boxtest.Watched(w.Config)
	w.RunAs(limited, boxtest.Observing{ComposeFunc: boxtest.Copies, Observer: func(ctx context.Context, b *boxtest.Box, seen *operon.Observed) error {
		for _, selector := range []labels.Selector{nil, labels.Nothing()} {
			list := &corev1.SecretList{Items: make([]corev1.Secret, 1)}
			if err := seen.List(ctx, list, nil, client.MatchingLabelsSelector{Selector: selector}); err != nil {
				return err
			}
			for _, item := range list.Items {
				b.Status.Seen = append(b.Status.Seen, item.Name)
			}
		}
		return nil
	}})
	w.Must(w.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: w.Meta("unselected")}))
	b := w.Box("a", nil)
	w.IsReady(b)
	w.Sees(b)
	watches.Are(t, w.Eventually, "/api/v1/namespaces/"+w.Namespace+"/secrets ", 0)
}

// Watches of what an object no longer reads end, even though its children are not ready.
func TestOldReadsEndWhileAChildIsNotReady(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	watched, watches := boxtest.Watched(w.Config)
	w.RunAs(watched, boxtest.ComposeContextFunc(func(ctx context.Context, b *boxtest.Box, out *operon.Composition) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.Spec.Data["secret"]}}
		if _, err := out.Get(ctx, secret); err != nil {
			return err
		}
		out.Child(boxtest.ConfigMap(b.Name, nil), operon.ReadyWhen(func(*unstructured.Unstructured) (bool, string) { return false, "it never is" }))
		return nil
	}))
	b := w.Box("never", map[string]string{"secret": "first"})
	w.Ready(b, metav1.ConditionFalse, "ChildNotReady", "it never is")
	secrets := "/api/v1/namespaces/" + w.Namespace + "/secrets metadata.name="
	watches.Are(t, w.Eventually, secrets+"first", 1)
	w.Change(b, func() { b.Spec.Data["secret"] = "second" })
	watches.Are(t, w.Eventually, secrets+"second", 1)
	watches.Are(t, w.Eventually, secrets+"first", 0)
}

// receivedBy returns a connection, and the bodies of all answers that were read from it.
func receivedBy(config *rest.Config) (*rest.Config, *boxtest.Lines) {
	var received boxtest.Lines
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err == nil {
				answer.Body = struct {
					io.Reader
					io.Closer
				}{io.TeeReader(answer.Body, &received), answer.Body}
			}
			return answer, err
		})
	})
	return config, &received
}
