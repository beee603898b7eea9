package derive

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Own is the namespace of rules that hold in the operator's own: kubebuilder's placeholder for it.
const Own = "system"

// Rule is a right that the code takes.
type Rule struct {
	Group, Resource string
	// Name limits it to one object, "" to none.
	Name string
	// Namespace limits it to one namespace: "" for the whole cluster, or Own.
	Namespace string
	Verbs     []string
	// Why says what takes it, for people.
	Why string
}

// Marker is the comment that says the same.
func (r Rule) Marker() string {
	var text strings.Builder
	fmt.Fprintf(&text, "+kubebuilder:rbac:groups=%s", cmp.Or(r.Group, `""`))
	if r.Namespace != "" {
		fmt.Fprintf(&text, ",namespace=%s", r.Namespace)
	}
	fmt.Fprintf(&text, ",resources=%s", r.Resource)
	if r.Name != "" {
		fmt.Fprintf(&text, ",resourceNames=%s", r.Name)
	}
	fmt.Fprintf(&text, ",verbs=%s", strings.Join(r.Verbs, ";"))
	return text.String()
}

// merged has one rule for what is said of one resource, in order.
func merged(rules []Rule) []Rule {
	type key struct{ group, resource, name, namespace string }
	found := map[key]*Rule{}
	var all []*Rule
	for _, rule := range rules {
		at := key{rule.Group, rule.Resource, rule.Name, rule.Namespace}
		if found[at] == nil {
			found[at] = &Rule{Group: rule.Group, Resource: rule.Resource, Name: rule.Name, Namespace: rule.Namespace, Why: rule.Why}
			all = append(all, found[at])
		}
		one := found[at]
		if !strings.Contains(one.Why, rule.Why) {
			one.Why += "; " + rule.Why
		}
		one.Verbs = append(one.Verbs, rule.Verbs...)
	}
	var made []Rule
	for _, rule := range all {
		slices.Sort(rule.Verbs)
		rule.Verbs = slices.Compact(rule.Verbs)
		made = append(made, *rule)
	}
	slices.SortFunc(made, func(a, b Rule) int { return strings.Compare(a.Marker(), b.Marker()) })
	return made
}

// packageOf is a package that has the rules as its markers, and nothing else.
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
