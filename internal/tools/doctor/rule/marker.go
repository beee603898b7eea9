package rule

import (
	"go/ast"
	"go/types"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/rbac"
)

// Marker finds the first RBAC marker for whose rule wanted returns true.
func (c *Code) Marker(wanted func(rbac.Rule) bool) (Place, bool) {
	for _, p := range c.Packages {
		for _, file := range p.Syntax {
			for _, group := range file.Comments {
				for _, comment := range group.List {
					if marker, ok := parseMarker(comment.Text); ok && wanted(marker) {
						return c.At(comment), true
					}
				}
			}
		}
	}
	return Place{}, false
}

// parseMarker reads a comment like controller-gen. The core group is the empty string.
func parseMarker(comment string) (rbac.Rule, bool) {
	text := strings.TrimSpace(strings.TrimPrefix(comment, "//"))
	if !strings.HasPrefix(text, "+"+rbac.RuleDefinition.Name+":") {
		return rbac.Rule{}, false
	}
	value, err := rbac.RuleDefinition.Parse(text)
	rule, ok := value.(rbac.Rule)
	for i, group := range rule.Groups {
		if group == "core" {
			rule.Groups[i] = ""
		}
	}
	return rule, ok && err == nil
}

// FirstUse returns the first place where the code names one of the types of a package, and the function around it, or nil if
// there is none.
func (c *Code) FirstUse(path string, names ...string) []Place {
	for _, f := range c.Functions {
		var found []Place
		f.Inspect(func(node ast.Node, _ []ast.Node) {
			name, ok := node.(*ast.Ident)
			if !ok || found != nil {
				return
			}
			if used, ok := f.Info().Uses[name].(*types.TypeName); ok && IsType(used.Type(), path, names...) {
				found = []Place{c.At(name), c.At(f.Decl)}
			}
		})
		if found != nil {
			return found
		}
	}
	return nil
}
