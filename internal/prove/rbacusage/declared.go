package rbacusage

import (
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/operon-framework/operon/internal/tools/project"
)

// Granted is what a Role of a project grants.
type Granted struct {
	project.Grant
	// Rules are the Role's. Those of a ClusterRole that is composed of others come from these.
	Rules []rbacv1.PolicyRule
	// Unknown: the Role is bound and is not part of the project, so nobody knows its rules.
	Unknown bool
}

// Of reads what a project's Roles grant. Roles that others are composed of are looked for among
// the grants and in beside.
func Of(grants []project.Grant, beside ...*unstructured.Unstructured) ([]Granted, error) {
	var all []Granted
	var problems []error
	for _, grant := range grants {
		granted := Granted{Grant: grant}
		switch {
		case grant.Role.Unstructured != nil:
			rules, err := composed(grant.Role.Unstructured, grants, beside)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", grant.Role.Place(), err))
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

// composed are the rules of a Role, and of those that its aggregationRule selects.
func composed(role *unstructured.Unstructured, grants []project.Grant, beside []*unstructured.Unstructured) ([]rbacv1.PolicyRule, error) {
	var read rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, &read); err != nil {
		return nil, err
	}
	if read.AggregationRule == nil {
		return read.Rules, nil
	}
	for _, grant := range grants {
		if grant.Role.Unstructured != nil {
			beside = append(beside, grant.Role.Unstructured)
		}
	}
	var rules []rbacv1.PolicyRule
	for i := range read.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&read.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		for _, other := range beside {
			if other.GetKind() != "ClusterRole" || other.GetName() == role.GetName() || !selector.Matches(labels.Set(other.GetLabels())) {
				continue
			}
			more, err := rulesOf(other)
			if err != nil {
				return nil, err
			}
			rules = append(rules, more...)
		}
	}
	return rules, nil
}

// rightsOf takes a rule apart.
func rightsOf(rule rbacv1.PolicyRule) []Right {
	var rights []Right
	for _, part := range validation.BreakdownRule(rule) {
		right := Right{Verb: part.Verbs[0]}
		if len(part.NonResourceURLs) > 0 {
			right.URL = part.NonResourceURLs[0]
		} else {
			right.Group, right.Resource = part.APIGroups[0], part.Resources[0]
		}
		if len(part.ResourceNames) > 0 {
			right.Name = part.ResourceNames[0]
		}
		rights = append(rights, right)
	}
	return rights
}

// covers tells whether a right that is granted, wildcards in it, allows one that is needed.
func covers(granted, needed Right) bool {
	ok, _ := validation.Covers([]rbacv1.PolicyRule{granted.rule([]string{granted.Verb})}, []rbacv1.PolicyRule{needed.rule([]string{needed.Verb})})
	return ok
}

// holds tells whether a grant holds where a right is needed.
func (g Granted) holds(need Need) bool {
	return g.Scope == project.ClusterScope || !need.Wide && need.URL == ""
}
