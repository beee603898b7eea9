package rbac

import (
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// Permission is one verb on one resource, or on a URL that is not a resource.
type Permission struct {
	// Verb is get, list, watch, create, update, patch, delete or deletecollection, or a verb that is never requested but has an
	// effect if it is granted, such as bind and escalate.
	Verb string
	// Group is the API group. It is empty for the core group.
	Group string
	// Resource is the plural name, with the subresource if there is one: deployments/scale.
	Resource string
	// Name limits the permission to one object. If it is empty, the permission applies to all objects.
	Name string
	// URL is a path that is not a resource, such as /metrics. Group and Resource are empty in this case.
	URL string
	// Namespace is the namespace in which it applies. It is empty for the whole cluster.
	Namespace string
}

// String returns the permission in the form of `kubectl auth can-i`: update deployments.apps/scale "web" in namespace shop.
func (p Permission) String() string {
	text := p.Target()
	if p.Verb != "" {
		text = p.Verb + " " + text
	}
	if p.Namespace != "" {
		text += " in namespace " + p.Namespace
	}
	return text
}

// Target returns the target of the permission: deployments.apps/scale "web".
func (p Permission) Target() string {
	if p.URL != "" {
		return p.URL
	}
	resource, sub, below := strings.Cut(p.Resource, "/")
	if p.Group != "" {
		resource += "." + p.Group
	}
	if below {
		resource += "/" + sub
	}
	if p.Name != "" {
		resource += fmt.Sprintf(" %q", p.Name)
	}
	return resource
}

// Covers reports whether the permission, which may have wildcards, includes another one, regardless of their namespaces. It
// decides like the API server's authorizer.
func (p Permission) Covers(other Permission) bool {
	ok, _ := validation.Covers([]rbacv1.PolicyRule{p.Rule(p.Verb)}, []rbacv1.PolicyRule{other.Rule(other.Verb)})
	return ok
}

// IsWild reports whether the permission has a wildcard.
func (p Permission) IsWild() bool {
	return p.Verb == rbacv1.VerbAll || p.Group == rbacv1.APIGroupAll || strings.HasPrefix(p.Resource, "*") || strings.HasSuffix(p.URL, "*")
}

// Rule returns a rule that grants verbs on the target of the permission. The binding of the Role defines the namespace.
func (p Permission) Rule(verbs ...string) rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: verbs}
	if p.URL != "" {
		rule.NonResourceURLs = []string{p.URL}
		return rule
	}
	rule.APIGroups, rule.Resources = []string{p.Group}, []string{p.Resource}
	if p.Name != "" {
		rule.ResourceNames = []string{p.Name}
	}
	return rule
}

// Attributes returns the permission on a resource in the form of an access review.
func (p Permission) Attributes() *authorizationv1.ResourceAttributes {
	resource, sub, _ := strings.Cut(p.Resource, "/")
	return &authorizationv1.ResourceAttributes{
		Verb: p.Verb, Group: p.Group, Resource: resource, Subresource: sub, Name: p.Name, Namespace: p.Namespace,
	}
}

// Permissions returns all permissions that a rule grants. Wildcards are not expanded.
func Permissions(rule rbacv1.PolicyRule) []Permission {
	var all []Permission
	for _, part := range validation.BreakdownRule(rule) {
		one := Permission{Verb: part.Verbs[0]}
		if len(part.NonResourceURLs) > 0 {
			one.URL = part.NonResourceURLs[0]
		} else {
			one.Group, one.Resource = part.APIGroups[0], part.Resources[0]
		}
		if len(part.ResourceNames) > 0 {
			one.Name = part.ResourceNames[0]
		}
		all = append(all, one)
	}
	return all
}

// LeaseNames returns the names of the Leases that an operator without shards uses in its own namespace: for leader election, for the
// record of composed kinds, and for storage migrations.
func LeaseNames(operator string, migrates bool) []string {
	names := []string{operator, operator + "-kinds"}
	if migrates {
		names = append(names, operator+"-migrations")
	}
	return names
}
