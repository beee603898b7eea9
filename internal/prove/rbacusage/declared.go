package rbacusage

import (
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/operon-framework/operon/internal/tools/kube"
	"github.com/operon-framework/operon/internal/tools/project"
)

// Granted contains the permissions that a Role of a project grants.
type Granted struct {
	project.Grant
	// Rules contains the rules of the Role. The rules of an aggregated ClusterRole are the rules of its parts.
	Rules []rbacv1.PolicyRule
	// Unknown means that the Role is bound but is not part of the project, so its rules are not known.
	Unknown bool
}

// Of returns the permissions that a project's Roles grant. The parts of an aggregated ClusterRole are searched for among
// the grants.
func Of(grants []project.Grant) ([]Granted, error) {
	var all []Granted
	var problems []error
	for _, grant := range grants {
		granted := Granted{Grant: grant}
		switch {
		case grant.Role.Unstructured != nil:
			rules, err := composed(grant, grants)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			granted.Rules = rules
		case grant.Kind == "ClusterRole" && grant.Name == "cluster-admin":
			granted.Rules = []rbacv1.PolicyRule{
				{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
				{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
			}
		default:
			granted.Unknown = true
		}
		all = append(all, granted)
	}
	return all, errors.Join(problems...)
}

// composed returns the rules of a Role, or of the ClusterRoles that its aggregationRule selects.
func composed(of project.Grant, grants []project.Grant) ([]rbacv1.PolicyRule, error) {
	role, err := of.ReadRole()
	if err != nil || role.AggregationRule == nil {
		return role.Rules, err
	}
	var rules []rbacv1.PolicyRule
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", of.Role.Place(), err)
		}
		for _, grant := range grants {
			other := grant.Role.Unstructured
			if other == nil || other.GetKind() != "ClusterRole" || other.GetName() == role.Name || !selector.Matches(labels.Set(other.GetLabels())) {
				continue
			}
			more, err := kube.ReadRole(other)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", of.Role.Place(), err)
			}
			rules = append(rules, more.Rules...)
		}
	}
	return rules, nil
}

// holds reports whether the scope of a grant includes the scope of a need.
func (g Granted) holds(need Need) bool {
	return g.Scope == project.ClusterScope || !need.Wide && need.URL == ""
}
