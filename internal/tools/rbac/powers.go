package rbac

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// powers lists permissions that lead to others if they apply to the whole cluster.
var powers = []struct {
	group     string
	resources []string
	verbs     []string
	meaning   string
}{
	{"", []string{"secrets"}, []string{"get", "list", "watch"}, "read every Secret"},
	{"", []string{"pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers"}, []string{"get", "create", "patch", "update"}, "get into every pod"},
	{"", []string{"nodes/proxy"}, []string{"get", "create"}, "reach every kubelet"},
	{"", []string{"serviceaccounts/token"}, []string{"create"}, "make tokens for every ServiceAccount"},
	{rbacv1.GroupName, []string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"}, []string{"create", "patch", "update"}, "change RBAC permissions"},
	{
		"admissionregistration.k8s.io", []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
		[]string{"create", "patch", "update"}, "register webhooks for every kind",
	},
}

// Powers describes permissions in cluster-wide rules that lead to other permissions, as clauses that follow "may". Rules that name objects
// are ignored.
func Powers(rules []rbacv1.PolicyRule) []string {
	var found []string
	for _, rule := range rules {
		if len(rule.ResourceNames) > 0 || len(rule.Resources) == 0 {
			continue
		}
		if wild := slices.ContainsFunc([][]string{rule.APIGroups, rule.Resources, rule.Verbs}, func(list []string) bool { return slices.Contains(list, "*") }); wild {
			found = append(found, fmt.Sprintf("%q %q in the groups %q", rule.Verbs, rule.Resources, rule.APIGroups))
			continue
		}
		for _, power := range powers {
			if slices.Contains(rule.APIGroups, power.group) && meet(rule.Resources, power.resources) && meet(rule.Verbs, power.verbs) {
				found = append(found, power.meaning)
			}
		}
	}
	return distinct(found)
}

func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}
