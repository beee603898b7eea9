package watches_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

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
