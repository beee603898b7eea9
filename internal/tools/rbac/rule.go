package rbac

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules returns the fewest rules that grant the permissions and no others, in controller-gen's order. Namespaces are ignored,
// because rules do not have any.
func Rules(permissions []Permission) []rbacv1.PolicyRule {
	verbs := map[Permission][]string{} // by permission without its verb
	for _, one := range permissions {
		one.Namespace = ""
		if all := one; one.Name != "" {
			if all.Name = ""; slices.Contains(permissions, all) {
				continue // already granted for all objects
			}
		}
		verb := one.Verb
		one.Verb = ""
		verbs[one] = append(verbs[one], verb)
	}
	var rules []rbacv1.PolicyRule
	for target, of := range verbs {
		rules = append(rules, target.Rule(distinct(of)...))
	}
	slices.SortFunc(rules, inOrder)
	// The same order as in controller-gen.
	rules = merge(rules, func(r *rbacv1.PolicyRule) *[]string { return &r.ResourceNames })
	rules = merge(rules, func(r *rbacv1.PolicyRule) *[]string { return &r.APIGroups })
	rules = merge(rules, func(r *rbacv1.PolicyRule) *[]string { return &r.Resources })
	return merge(rules, func(r *rbacv1.PolicyRule) *[]string { return &r.NonResourceURLs })
}

// merge combines rules that differ only in a list into one. A rule whose list is empty is not restricted by it, and is not
// combined with others.
func merge(rules []rbacv1.PolicyRule, list func(*rbacv1.PolicyRule) *[]string) []rbacv1.PolicyRule {
	merged := map[string]rbacv1.PolicyRule{}
	for _, rule := range rules {
		other := *rule.DeepCopy()
		*list(&other) = nil
		key := fmt.Sprintf("%v %q", len(*list(&rule)) > 0, other.String())
		if before, ok := merged[key]; ok {
			*list(&rule) = distinct(slices.Concat(*list(&before), *list(&rule)))
		}
		merged[key] = rule
	}
	return slices.SortedFunc(maps.Values(merged), inOrder)
}

func inOrder(a, b rbacv1.PolicyRule) int {
	return cmp.Or(slices.Compare(a.APIGroups, b.APIGroups), slices.Compare(a.Resources, b.Resources),
		slices.Compare(a.ResourceNames, b.ResourceNames), slices.Compare(a.NonResourceURLs, b.NonResourceURLs), slices.Compare(a.Verbs, b.Verbs))
}

func distinct(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}

// Lines returns a rule as YAML, to be pasted below "rules:".
func Lines(rule rbacv1.PolicyRule) []string {
	var lines []string
	for _, field := range []struct {
		name   string
		values []string
	}{
		{"apiGroups", rule.APIGroups}, {"nonResourceURLs", rule.NonResourceURLs}, {"resourceNames", rule.ResourceNames},
		{"resources", rule.Resources}, {"verbs", rule.Verbs},
	} {
		if len(field.values) == 0 {
			continue
		}
		indent := "  "
		if len(lines) == 0 {
			indent = "- "
		}
		lines = append(lines, fmt.Sprintf("%s%s: [%s]", indent, field.name, quoted(field.values)))
	}
	return lines
}

func quoted(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, fmt.Sprintf("%q", word))
	}
	return strings.Join(all, ", ")
}
