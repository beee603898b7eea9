package aggregated

import (
	"context"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// API servers and cluster administrators are allowed without a question to the cluster. All others, and all other requests of API servers, are
// asked about.
func TestWithoutReview(t *testing.T) {
	t.Parallel()
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
		"nobody":                {of: authorizer.AttributesRecord{Verb: "get", Path: "/apis"}, asks: true},
	} {
		asked := false
		all := withoutReview(authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			asked = true
			return authorizer.DecisionDeny, "", nil
		}))
		decision, _, err := all.Authorize(t.Context(), test.of)
		if err != nil || asked != test.asks || (decision == authorizer.DecisionAllow) == test.asks {
			t.Errorf("%s: the decision is %v, the cluster was asked: %v, error %v", name, decision, asked, err)
		}
	}
}
