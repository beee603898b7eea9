package operon_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/internal/testing/boxtest"
)

// An operator that is limited to a namespace needs no permissions outside of it: none of its requests is forbidden. If its Role
// allows it to read the namespace itself, it does so.
func TestRoleWithinANamespace(t *testing.T) {
	t.Parallel()
	for _, reads := range []bool{false, true} {
		t.Run(fmt.Sprintf("reads its namespace: %v", reads), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			role := w.MayAllBut("nothing")
			w.Change(role, func() {
				role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"*"}})
				if reads {
					role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}})
				}
			})
			w.May("limited", "update", "coordination.k8s.io", "leases")
			limited, refused := refusals(w.Config)
			limited.Impersonate.UserName = "limited"
			requests, _ := w.RunAs(limited, boxtest.ComposeFunc(boxtest.Copies))
			w.IsReady(w.Box("within", map[string]string{"a": "1"}))
			if got := refused(); len(got) > 0 {
				t.Errorf("refused were %q", got)
			}
			if got := slices.Contains(requests.All(false), "GET /api/v1/namespaces/"+w.Namespace); got != reads {
				t.Errorf("it read its namespace: %v", got)
			}
		})
	}
}

// refusals collects the requests that the API server rejects as forbidden.
func refusals(config *rest.Config) (watched *rest.Config, all func() []string) {
	var mu sync.Mutex
	var requests []string
	watched = rest.CopyConfig(config)
	watched.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return boxtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && response.StatusCode == http.StatusForbidden {
				mu.Lock()
				requests = append(requests, r.Method+" "+r.URL.Path)
				mu.Unlock()
			}
			return response, err
		})
	})
	return watched, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(requests)
	}
}
