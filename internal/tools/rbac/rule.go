package rbac

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is one entry of a Role's rules.
type Rule struct {
	Groups, Resources, Paths, Verbs []string
}

// Rules are the rules that lift all refusals of the set: one for each resource, with its verbs
// together. Who lists in order to stay informed also watches, and would be refused that next, so
// "watch" goes with "list".
func (s *Set) Rules() []Rule {
	var rules []Rule
	for _, refusal := range s.All() {
		rule := ruleFor(&rules, refusal)
		rule.add(refusal.Verb)
		if refusal.Verb == "list" {
			rule.add("watch")
		}
	}
	return rules
}

// ruleFor returns the rule for a refusal's resource, a new one if need be.
func ruleFor(rules *[]Rule, refusal Refusal) *Rule {
	wanted := Rule{Groups: []string{refusal.Group}, Resources: []string{refusal.Resource}}
	if refusal.Path != "" {
		wanted = Rule{Paths: []string{refusal.Path}}
	}
	same := func(rule Rule) bool {
		return slices.Equal(rule.Groups, wanted.Groups) && slices.Equal(rule.Resources, wanted.Resources) && slices.Equal(rule.Paths, wanted.Paths)
	}
	at := slices.IndexFunc(*rules, same)
	if at < 0 {
		*rules, at = append(*rules, wanted), len(*rules)
	}
	return &(*rules)[at]
}

func (r *Rule) add(verb string) {
	if !slices.Contains(r.Verbs, verb) {
		r.Verbs = append(r.Verbs, verb)
	}
}

// Lines are the rule as YAML, to be pasted below "rules:".
func (r Rule) Lines() []string {
	lines := []string{fmt.Sprintf("- apiGroups: [%s]", quoted(r.Groups)), fmt.Sprintf("  resources: [%s]", quoted(r.Resources))}
	if len(r.Paths) > 0 {
		lines = []string{fmt.Sprintf("- nonResourceURLs: [%s]", quoted(r.Paths))}
	}
	return append(lines, fmt.Sprintf("  verbs: [%s]", quoted(r.Verbs)))
}

func quoted(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, fmt.Sprintf("%q", word))
	}
	return strings.Join(all, ", ")
}
