package aggregated

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/operon-framework/operon/local/localtest"
)

// counter is a transport.
type counter func(*http.Request) (*http.Response, error)

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// API servers and cluster administrators are allowed without a question to the cluster. All others, and all other requests of API servers, are
// asked about.
func TestWithoutReview(t *testing.T) {
	t.Parallel()
	var reviews atomic.Int64
	connection := rest.CopyConfig(localtest.Shared(t).Config)
	connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return counter(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/subjectaccessreviews") {
				reviews.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	client, err := kubernetes.NewForConfig(connection)
	if err != nil {
		t.Fatal(err)
	}
	config := &server.Config{}
	if _, err := trusting(config, client); err != nil {
		t.Fatal(err)
	}
	const aggregator = "system:aggregator"
	for name, test := range map[string]struct {
		of   authorizer.AttributesRecord
		asks bool
	}{
		"OpenAPI":               {of: authorizer.AttributesRecord{User: &user.DefaultInfo{Name: aggregator}, Verb: "get", Path: "/openapi/v3/apis/box.example.com/v1"}},
		"discovery":             {of: authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "system:kube-aggregator"}, Verb: "get", Path: "/apis"}},
		"administrator":         {of: authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "ada", Groups: []string{user.SystemPrivilegedGroup}}, Verb: "delete", ResourceRequest: true}},
		"another user":          {of: authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "ada"}, Verb: "get", Path: "/openapi/v2"}, asks: true},
		"objects":               {of: authorizer.AttributesRecord{User: &user.DefaultInfo{Name: aggregator}, Verb: "get", Path: "/apis/box.example.com/v1/boxes", ResourceRequest: true}, asks: true},
		"another path":          {of: authorizer.AttributesRecord{User: &user.DefaultInfo{Name: aggregator}, Verb: "get", Path: "/metrics"}, asks: true},
		"a path that begins so": {of: authorizer.AttributesRecord{User: &user.DefaultInfo{Name: aggregator}, Verb: "get", Path: "/apisx"}, asks: true},
		"another verb":          {of: authorizer.AttributesRecord{User: &user.DefaultInfo{Name: aggregator}, Verb: "post", Path: "/apis"}, asks: true},
	} {
		before := reviews.Load()
		decision, _, err := config.Authorization.Authorizer.Authorize(t.Context(), test.of)
		if asked := reviews.Load() > before; err != nil || asked != test.asks || !asked && decision != authorizer.DecisionAllow {
			t.Errorf("%s: the decision is %v, the cluster was asked: %v, error %v", name, decision, asked, err)
		}
	}
}
