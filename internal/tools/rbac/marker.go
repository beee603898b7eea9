package rbac

import (
	"cmp"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// markerName begins a comment that asks for permissions.
const markerName = "+kubebuilder:rbac:"

// Marker is the comment by which Go code asks for verbs on what a permission is about.
func Marker(of Permission, verbs ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%sgroups=%s", markerName, cmp.Or(of.Group, `""`))
	if of.Namespace != "" {
		fmt.Fprintf(&text, ",namespace=%s", of.Namespace)
	}
	fmt.Fprintf(&text, ",resources=%s", of.Resource)
	if of.Name != "" {
		fmt.Fprintf(&text, ",resourceNames=%s", of.Name)
	}
	fmt.Fprintf(&text, ",verbs=%s", strings.Join(verbs, ";"))
	return text.String()
}

// ParseMarker reads a marker from a comment of Go code. It reports false for other comments.
func ParseMarker(comment string) (rbacv1.PolicyRule, bool) {
	fields, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(comment, "//")), markerName)
	if !ok {
		return rbacv1.PolicyRule{}, false
	}
	rule := rbacv1.PolicyRule{APIGroups: []string{""}}
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(field, "=")
		list := strings.Split(strings.Trim(value, `"{}`), ";")
		for i := range list {
			list[i] = strings.Trim(list[i], `"`)
		}
		switch strings.TrimSpace(name) {
		case "groups":
			rule.APIGroups = list
		case "resources":
			rule.Resources = list
		case "resourceNames":
			rule.ResourceNames = list
		case "urls":
			rule.NonResourceURLs = list
		case "verbs":
			rule.Verbs = list
		}
	}
	for i, group := range rule.APIGroups {
		if group == "core" {
			rule.APIGroups[i] = ""
		}
	}
	return rule, true
}
