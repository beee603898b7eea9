package rbacusage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Rules are the fewest rules that grant what is needed and no more, in the order in which
// controller-gen writes them.
func (n Needs) Rules() []rbacv1.PolicyRule {
	verbs := map[Right][]string{} // by all but the verb
	for _, need := range n {
		key := need.written()
		if plain := key; key.Name != "" {
			if plain.Name = ""; slices.ContainsFunc(n, func(other Need) bool { return other.written() == plain }) {
				continue // allowed for all objects anyway
			}
		}
		key.Verb = ""
		verbs[key] = append(verbs[key], need.Verb)
	}
	var rules []rbacv1.PolicyRule
	for key, of := range verbs {
		rules = append(rules, key.rule(distinct(of)))
	}
	slices.SortFunc(rules, inOrder)
	// In this order, as controller-gen has it.
	rules = merge(rules, func(r *rbacv1.PolicyRule) *[]string { return &r.ResourceNames })
	rules = merge(rules, func(r *rbacv1.PolicyRule) *[]string { return &r.APIGroups })
	rules = merge(rules, func(r *rbacv1.PolicyRule) *[]string { return &r.Resources })
	return merge(rules, func(r *rbacv1.PolicyRule) *[]string { return &r.NonResourceURLs })
}

// written is the right as a rule has it.
func (n Need) written() Right {
	right := n.Right
	if !n.Fixed {
		right.Name = ""
	}
	return right
}

// rule is one that grants verbs on what the right is about.
func (r Right) rule(verbs []string) rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: verbs}
	if r.URL != "" {
		rule.NonResourceURLs = []string{r.URL}
		return rule
	}
	rule.APIGroups, rule.Resources = []string{r.Group}, []string{r.Resource}
	if r.Name != "" {
		rule.ResourceNames = []string{r.Name}
	}
	return rule
}

// String is the right for people: update deployments.apps/scale "web".
func (r Right) String() string {
	if r.URL != "" {
		return strings.TrimSpace(r.Verb + " " + r.URL)
	}
	text := strings.TrimSpace(r.Verb + " " + r.resource())
	if r.Name != "" {
		text += fmt.Sprintf(" %q", r.Name)
	}
	return text
}

// resource is deployments.apps/scale.
func (r Right) resource() string {
	resource, sub, below := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if below {
		resource += "/" + sub
	}
	return resource
}

// merge makes one of rules that differ in one list only, and are more than names of nothing.
func merge(rules []rbacv1.PolicyRule, list func(*rbacv1.PolicyRule) *[]string) []rbacv1.PolicyRule {
	merged := map[string]rbacv1.PolicyRule{}
	for _, rule := range rules {
		other := *rule.DeepCopy()
		*list(&other) = nil
		key := fmt.Sprintf("%v %q", len(*list(&rule)) > 0, other.String())
		if before, there := merged[key]; there {
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
	sorted := slices.Sorted(slices.Values(texts))
	return slices.Compact(sorted)
}

// Role is a Role, or a ClusterRole where a need is wide or about no resource, with the fewest rules
// that grant what is needed.
func (n Needs) Role(name string) *unstructured.Unstructured {
	kind := "Role"
	if slices.ContainsFunc(n, func(need Need) bool { return need.Wide || need.URL != "" }) {
		kind = "ClusterRole"
	}
	var rules []any
	for _, rule := range n.Rules() {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&rule)
		if err == nil { // a rule is nothing but lists of strings
			rules = append(rules, fields)
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": kind,
		"metadata": map[string]any{"name": name}, "rules": rules,
	}}
}

// YAML is the [Needs.Role] as a file that can be kept beside the operator's others.
func (n Needs) YAML(name string) ([]byte, error) {
	content, err := yaml.Marshal(n.Role(name).Object)
	return append([]byte("---\n"), content...), err
}

// rulesOf are those that a Role or ClusterRole has.
func rulesOf(role *unstructured.Unstructured) ([]rbacv1.PolicyRule, error) {
	var read rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(role.Object, &read, false); err != nil {
		return nil, fmt.Errorf("%s %s: %w", role.GetKind(), role.GetName(), err)
	}
	return read.Rules, nil
}

func usualPlural(kind schema.GroupKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return plural.GroupResource()
}
