package watches_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/runtime/resourceclient"
	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// A watch does not start without permission to list or to watch. The error is the one of the API server.
func TestStartWithoutPermission(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"list", "watch"} {
		for status, is := range map[int]func(error) bool{
			http.StatusForbidden: apierrors.IsForbidden, http.StatusMethodNotAllowed: apierrors.IsMethodNotSupported,
		} {
			b := newBench(t, nil)
			b.api.put("default", "a", ofOwner())
			b.api.refusedVerbs[verb] = status
			kind := resourceclient.Children{Kind: configKind}
			if _, err := b.session().Children(t.Context(), kind, "o"); !is(err) {
				t.Errorf("%s refused with %d: %v", verb, status, err)
			}
			select {
			case why := <-b.queued:
				t.Errorf("%s refused with %d: triggered by %s, want only the error", verb, status, why.Kind)
			default:
			}
		}
	}
}

// The error of the first request ends the start of a watch, and the next read starts it again.
func TestStartThatFailsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.api.put("default", "a", ofOwner())
	b.api.refusedOnce["list"] = http.StatusInternalServerError
	kind, session := resourceclient.Children{Kind: configKind}, b.session()
	if _, err := session.Children(t.Context(), kind, "o"); !apierrors.IsInternalError(err) {
		t.Errorf("the list failed: %v", err)
	}
	if found := b.children(session, false); len(found) != 1 {
		t.Errorf("the children are %v, want one", found)
	}
}

// A watch starts with one request, by which the API server sends the existing objects and then their changes.
func TestRequestsOfAStart(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	config := rest.CopyConfig(w.Config)
	var mu sync.Mutex
	var requests []string
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/secrets") {
				mu.Lock()
				defer mu.Unlock()
				requests = append(requests, r.URL.RawQuery)
			}
			return next.RoundTrip(r)
		})
	})
	w.RunAs(config, licensed)
	if err := w.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "licence"}}); err != nil {
		t.Fatal(err)
	}
	w.IsReady(w.Box("licensed", map[string]string{"licence": "licence"}))
	mu.Lock()
	defer mu.Unlock()
	if len(requests) != 1 || !strings.Contains(requests[0], "sendInitialEvents=true") {
		t.Errorf("the requests are %q, want one that streams", requests)
	}
}
