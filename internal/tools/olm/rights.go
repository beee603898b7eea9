package olm

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

// Scopes of permissions.
const (
	ScopeCluster    = "cluster"
	ScopeNamespaces = "namespaces"
)

// Right is a permission of an operator.
type Right struct {
	// Scope is cluster, or namespaces for those of the OperatorGroup.
	Scope string `json:"scope"`

	rbacv1.PolicyRule `json:",inline"`

	// Role is the Role of the bundle that grants it. It is empty for permissions in the ClusterServiceVersion.
	Role string `json:"role,omitempty"`
	// Escalates is what the permission leads to, or empty for usual permissions.
	Escalates string `json:"escalates,omitempty"`

	rank int
}

// escalations are what permissions lead to, the worst first.
var escalations = []struct {
	groups, resources, verbs []string
	meaning                  string
	// named means that the permission counts also if it is for objects with names.
	named bool
}{
	{[]string{"*"}, []string{"*"}, []string{"*"}, "may do everything", false},
	{[]string{rbacv1.GroupName}, []string{"roles", "clusterroles"}, []string{"escalate"}, "may grant permissions that it does not have", true},
	{[]string{rbacv1.GroupName}, []string{"roles", "clusterroles"}, []string{"bind"}, "may bind Roles with permissions that it does not have", true},
	{[]string{"", "authentication.k8s.io"}, []string{"users", "groups", "serviceaccounts", "userextras"}, []string{"impersonate"}, "may act as others", true},
	{[]string{""}, []string{"secrets"}, []string{"get", "list", "watch"}, "may read Secrets", false},
	{[]string{""}, []string{"pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers"}, []string{"get", "create", "patch", "update"}, "may get into pods", false},
	{[]string{""}, []string{"nodes/proxy"}, []string{"get", "create"}, "may reach kubelets", false},
	{[]string{""}, []string{"serviceaccounts/token"}, []string{"create"}, "may make tokens for ServiceAccounts", false},
	{[]string{rbacv1.GroupName}, []string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"}, []string{"create", "patch", "update"}, "may change permissions", false},
	{
		[]string{"admissionregistration.k8s.io"}, []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
		[]string{"create", "patch", "update"}, "may register webhooks", false,
	},
}

// usual is the rank of permissions that lead to no others.
var usual = len(escalations) + 1

// rate sets what a permission leads to. Wildcards in the API groups of the operator itself are usual.
func (r *Right) rate(own []string) {
	r.rank = usual
	for i, one := range escalations {
		if len(r.ResourceNames) > 0 && !one.named {
			continue
		}
		if among(r.APIGroups, one.groups) && among(r.Resources, one.resources) && among(r.Verbs, one.verbs) {
			r.rank, r.Escalates = i, one.meaning
			return
		}
	}
	foreign := slices.ContainsFunc(r.APIGroups, func(group string) bool { return !slices.Contains(own, group) })
	if wild := slices.Contains(slices.Concat(r.APIGroups, r.Resources, r.Verbs), "*"); wild && foreign {
		r.rank, r.Escalates = len(escalations), "has wildcards for kinds of others"
	}
}

// among reports whether a list with wildcards contains one of the values.
func among(list, values []string) bool {
	return slices.Contains(list, "*") || slices.ContainsFunc(values, func(one string) bool { return slices.Contains(list, one) })
}

// String returns the permission in one line: get, list secrets in the cluster.
func (r *Right) String() string {
	text := strings.Join(r.Verbs, ", ") + " " + r.target()
	if r.Scope == ScopeCluster {
		text += " in the cluster"
	}
	if r.Role != "" {
		text += " (" + r.Role + ")"
	}
	if r.Escalates != "" {
		text = r.Escalates + ": " + text
	}
	return text
}

func (r *Right) target() string {
	if len(r.NonResourceURLs) > 0 {
		return strings.Join(r.NonResourceURLs, ", ")
	}
	var all []string
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			all = append(all, rbac.Permission{Group: group, Resource: resource}.Target())
		}
	}
	text := strings.Join(all, ", ")
	if len(r.ResourceNames) > 0 {
		text += " named " + strings.Join(r.ResourceNames, ", ")
	}
	return text
}

// Rights returns the permissions of a version, those that lead to others first. everywhere means that its group selects all namespaces.
func (v *Version) Rights(everywhere bool) []Right {
	return v.rights(v.rules(everywhere))
}

// NewRights returns the permissions of a version that the one before does not have. before may be nil.
func (v *Version) NewRights(before *Version, everywhere bool) []Right {
	if before == nil {
		return v.Rights(everywhere)
	}
	had, has := before.rules(everywhere), v.rules(everywhere)
	had[ScopeNamespaces] = slices.Concat(had[ScopeNamespaces], had[ScopeCluster])
	added := map[string][]rbacv1.PolicyRule{}
	for scope, rules := range has {
		for _, rule := range rules {
			added[scope] = append(added[scope], uncovered(had[scope], rule)...)
		}
	}
	return v.rights(added)
}

// RoleRights returns the permissions in the rules of a Role of the version's bundle that other rules do not include.
func (v *Version) RoleRights(role string, scope string, had, has []rbacv1.PolicyRule) []Right {
	var added []rbacv1.PolicyRule
	for _, rule := range has {
		added = append(added, uncovered(had, rule)...)
	}
	all := v.rights(map[string][]rbacv1.PolicyRule{scope: added})
	for i := range all {
		all[i].Role = role
	}
	return all
}

// rules returns the rules of a version by their scope.
func (v *Version) rules(everywhere bool) map[string][]rbacv1.PolicyRule {
	all := map[string][]rbacv1.PolicyRule{}
	add := func(scope string, permissions []Permissions) {
		for _, one := range permissions {
			all[scope] = append(all[scope], one.Rules...)
		}
	}
	scope := ScopeNamespaces
	if everywhere {
		scope = ScopeCluster
	}
	add(scope, v.Spec.Install.Spec.Permissions)
	add(ScopeCluster, v.Spec.Install.Spec.ClusterPermissions)
	return all
}

func (v *Version) rights(rules map[string][]rbacv1.PolicyRule) []Right {
	var own []string
	for _, api := range v.Spec.Definitions.Owned {
		_, group, _ := strings.Cut(api.Name, ".")
		own = append(own, group)
	}
	all := []Right{}
	for _, scope := range []string{ScopeCluster, ScopeNamespaces} {
		for _, rule := range merged(rules[scope]) {
			right := Right{Scope: scope, PolicyRule: rule}
			right.rate(own)
			all = append(all, right)
		}
	}
	slices.SortStableFunc(all, func(a, b Right) int { return a.rank - b.rank })
	return all
}

// maxParts is how many single permissions a rule may stand for, to be divided. Rules come from bundles, which are untrusted.
const maxParts = 2000

func parts(rule rbacv1.PolicyRule) int {
	return len(rule.Verbs) * (len(rule.APIGroups)*len(rule.Resources)*max(1, len(rule.ResourceNames)) + len(rule.NonResourceURLs))
}

// merged returns the fewest rules for the same permissions. Many or large rules stay as they are.
func merged(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var all []rbac.Permission
	total := 0
	for _, rule := range rules {
		if total += parts(rule); total > maxParts {
			return rules
		}
	}
	for _, rule := range rules {
		all = append(all, rbac.Permissions(rule)...)
	}
	return rbac.Rules(all)
}

// uncovered returns the parts of a rule that other rules do not include. A rule with too many parts is returned as a whole, unless one of the
// others is equal.
func uncovered(by []rbacv1.PolicyRule, rule rbacv1.PolicyRule) []rbacv1.PolicyRule {
	total := parts(rule)
	for _, other := range by {
		if other.String() == rule.String() {
			return nil
		}
		total += parts(other)
	}
	if total > maxParts {
		return []rbacv1.PolicyRule{rule}
	}
	_, missing := validation.Covers(by, []rbacv1.PolicyRule{rule})
	return missing
}

// Images returns the images that a version runs or names, each once.
func (v *Version) Images() []string {
	found := map[string]bool{}
	for _, deployment := range v.Spec.Install.Spec.Deployments {
		template, _ := deployment.Spec["template"].(map[string]any)
		spec, _ := template["spec"].(map[string]any)
		for _, field := range []string{"initContainers", "containers"} {
			list, _ := spec[field].([]any)
			for _, one := range list {
				container, _ := one.(map[string]any)
				if image, _ := container["image"].(string); image != "" {
					found[image] = true
				}
			}
		}
	}
	for _, one := range v.Spec.RelatedImage {
		if one.Image != "" {
			found[one.Image] = true
		}
	}
	return sorted(found)
}

func sorted(set map[string]bool) []string {
	all := []string{}
	for one := range set {
		all = append(all, one)
	}
	slices.Sort(all)
	return all
}

// address returns NAMESPACE/NAME.
func address(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return fmt.Sprintf("%s/%s", namespace, name)
}
