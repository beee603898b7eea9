package rbac_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

func TestPowers(t *testing.T) {
	t.Parallel()
	rule := func(group, resource, verb string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
	}
	named := rule("", "secrets", "get")
	named.ResourceNames = []string{"own"}
	for name, c := range map[string]struct {
		rule rbacv1.PolicyRule
		want []string
	}{
		"Secrets":            {rule("", "secrets", "watch"), []string{"read every Secret"}},
		"one Secret":         {named, nil},
		"created Secrets":    {rule("", "secrets", "create"), nil},
		"another group":      {rule("example.com", "secrets", "get"), nil},
		"wildcard":           {rule("apps", "*", "get"), []string{`["get"] ["*"] in the groups ["apps"]`}},
		"exec":               {rule("", "pods/exec", "create"), []string{"get into every pod"}},
		"kubelets":           {rule("", "nodes/proxy", "get"), []string{"reach every kubelet"}},
		"tokens":             {rule("", "serviceaccounts/token", "create"), []string{"make tokens for every ServiceAccount"}},
		"Roles":              {rule(rbacv1.GroupName, "roles", "patch"), []string{"change RBAC permissions"}},
		"webhooks":           {rule("admissionregistration.k8s.io", "validatingwebhookconfigurations", "patch"), []string{"register webhooks for every kind"}},
		"URLs":               {rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}, nil},
		"an ordinary object": {rule("apps", "deployments", "patch"), nil},
	} {
		if got := rbac.Powers([]rbacv1.PolicyRule{c.rule}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
