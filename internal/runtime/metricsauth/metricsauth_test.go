package metricsauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/runtime/metricsauth"
	"github.com/operon-framework/operon/local/localtest"
)

// Only clients that the API server authenticates and authorizes can read metrics.
func TestFilter(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	server := guarded(t, env.Config)
	allowed, other := token(t, client, env.Namespace, "allowed"), token(t, client, env.Namespace, "other")
	allow(t, client, env.Namespace, "allowed")
	for name, test := range map[string]struct {
		authorization string
		want          int
	}{
		"nobody":            {"", http.StatusUnauthorized},
		"no token":          {"Basic YTpi", http.StatusUnauthorized},
		"not a token":       {"Bearer nonsense", http.StatusUnauthorized},
		"not allowed":       {"Bearer " + other, http.StatusForbidden},
		"allowed":           {"Bearer " + allowed, http.StatusOK},
		"of an empty token": {"Bearer ", http.StatusUnauthorized},
	} {
		localtest.Eventually(t, name, func(ctx context.Context) error { // a permission takes effect after a moment
			return answers(ctx, server+"/metrics", test.authorization, test.want)
		})
	}
	if err := answers(t.Context(), server+"/secret", "Bearer "+allowed, http.StatusForbidden); err != nil {
		t.Errorf("another path: %v", err)
	}
}

// Cached results are not requested again. If the API server does not respond, access is denied.
func TestFilterAsksOnce(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	var down atomic.Bool
	config := rest.CopyConfig(env.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if down.Load() {
				return nil, fmt.Errorf("down")
			}
			return next.RoundTrip(r)
		})
	})
	server := guarded(t, config)
	one, other := token(t, client, env.Namespace, "one"), token(t, client, env.Namespace, "two")
	if err := answers(t.Context(), server+"/metrics", "Bearer "+one, http.StatusForbidden); err != nil {
		t.Fatal(err)
	}
	for i := range 300 { // more than the size of the cache
		err := answers(t.Context(), server+"/metrics", fmt.Sprint("Bearer made-up-", i), http.StatusUnauthorized)
		if err != nil && !strings.HasPrefix(err.Error(), "429 ") { // they are rate limited
			t.Fatal(err)
		}
	}
	down.Store(true)
	if err := answers(t.Context(), server+"/metrics", "Bearer "+one, http.StatusForbidden); err != nil {
		t.Errorf("known: %v", err)
	}
	localtest.Eventually(t, "the question about another token, which fails", func(ctx context.Context) error { // the rate limit may delay it
		return answers(ctx, server+"/metrics", "Bearer "+other, http.StatusInternalServerError)
	})
}

// Random tokens cause a limited number of requests to the API server, and clients that had access before still have it.
func TestRandomTokens(t *testing.T) {
	t.Parallel()
	env := localtest.Shared(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	var asked atomic.Int32
	config := rest.CopyConfig(env.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			asked.Add(1)
			return next.RoundTrip(r)
		})
	})
	server := guarded(t, config)
	good := "Bearer " + token(t, client, env.Namespace, "flooded")
	allow(t, client, env.Namespace, "flooded")
	localtest.Eventually(t, "the token", func(ctx context.Context) error { return answers(ctx, server+"/metrics", good, http.StatusOK) })
	const tokens = 200
	limited, first, began := 0, asked.Load(), time.Now()
	for i := range tokens {
		if answers(t.Context(), server+"/metrics", fmt.Sprintf("Bearer random-%d", i), http.StatusTooManyRequests) == nil {
			limited++
		}
	}
	before, took := asked.Load(), time.Since(began)
	permitted := 51 + int(10*took.Seconds()) // 50 at once, and 10 each second
	if limited < tokens-permitted || int(before-first) > permitted {
		t.Errorf("in %s, %d of %d requests were rejected at once, the API server was asked %d times", took, limited, tokens, before-first)
	}
	if err := answers(t.Context(), server+"/metrics", good, http.StatusOK); err != nil || asked.Load() != before {
		t.Errorf("the accepted token: %v, asked again: %v", err, asked.Load() != before)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// guarded returns the address of a server behind the filter.
func guarded(t *testing.T, config *rest.Config) string {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := metricsauth.Filter(config, client)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "metric 1") }))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func answers(ctx context.Context, url, authorization string, want int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		return fmt.Errorf("%s, want %d", response.Status, want)
	}
	return nil
}

// token returns the token of a new ServiceAccount.
func token(t *testing.T, client kubernetes.Interface, namespace, name string) string {
	t.Helper()
	accounts := client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	answer, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// allow permits a ServiceAccount to get metrics.
func allow(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "scrape-" + namespace}
	rules := []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := client.RbacV1().ClusterRoleBindings().Delete(ctx, meta.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := client.RbacV1().ClusterRoles().Delete(ctx, meta.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
