package derive

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/operon-framework/operon/internal/tools/rbac"
)

// Own is the namespace of rules for the operator's own namespace: kubebuilder's placeholder for it.
const Own = "system"

// Rule is a permission that the code needs, with all verbs.
type Rule struct {
	// Of is the permission without a verb. Its namespace is empty for the whole cluster, or Own.
	Of    rbac.Permission
	Verbs []string
	// Why describes for users what needs it.
	Why string
}

// Marker returns the comment that requests the same permission.
func (r Rule) Marker() string { return rbac.Marker(r.Of, r.Verbs...) }

// merged merges rules into one for each permission, in order.
func merged(rules []Rule) []Rule {
	found := map[rbac.Permission]*Rule{}
	for _, rule := range rules {
		one := found[rule.Of]
		if one == nil {
			one = &Rule{Of: rule.Of, Why: rule.Why}
			found[rule.Of] = one
		}
		if !strings.Contains(one.Why, rule.Why) {
			one.Why += "; " + rule.Why
		}
		one.Verbs = append(one.Verbs, rule.Verbs...)
	}
	var made []Rule
	for _, rule := range found {
		slices.Sort(rule.Verbs)
		rule.Verbs = slices.Compact(rule.Verbs)
		made = append(made, *rule)
	}
	slices.SortFunc(made, func(a, b Rule) int { return strings.Compare(a.Marker(), b.Marker()) })
	return made
}

// packageOf returns a package that contains only the rules, as markers.
func packageOf(rules []Rule) (*loader.Package, error) {
	var text strings.Builder
	for _, rule := range rules {
		fmt.Fprintf(&text, "// %s\n", rule.Marker())
	}
	text.WriteString("\npackage derived\n")
	file, err := parser.ParseFile(token.NewFileSet(), "derived.go", text.String(), parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("the rules that were derived: %w", err)
	}
	return &loader.Package{Package: &packages.Package{ID: "derived", Name: "derived", PkgPath: "derived", Syntax: []*ast.File{file}}}, nil
}
