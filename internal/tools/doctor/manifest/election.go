package manifest

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/operon-framework/operon/internal/tools/doctor/rule"
)

// flagsOf returns the flags with which a Deployment starts the operator, without those that are false.
func flagsOf(d *appsv1.Deployment) map[string]bool {
	flags := map[string]bool{}
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, argument := range slices.Concat(c.Command, c.Args) {
			for word := range strings.FieldsSeq(argument) { // of a shell
				if name, value, _ := strings.Cut(strings.TrimLeft(word, "-"), "="); value != "false" {
					flags[name] = true
				}
			}
		}
	}
	return flags
}

// elects reports whether an operator with some flags may use leader election. A configuration file may ask for it, and so may
// a value that the code computes.
func elects(c *rule.Code, flags map[string]bool) bool {
	if flags["leader-elect"] || flags["enable-leader-election"] || flags["config"] {
		return true
	}
	found := false
	inspect(c, func(info *types.Info, node ast.Node) {
		switch n := node.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "LeaderElection" {
				found = found || mayBeTrue(c, info, n.Value, flags)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if selector, ok := left.(*ast.SelectorExpr); ok && selector.Sel.Name == "LeaderElection" {
					found = found || len(n.Lhs) != len(n.Rhs) || mayBeTrue(c, info, n.Rhs[i], flags)
				}
			}
		}
	})
	return found
}

// inspect visits all nodes of the code.
func inspect(c *rule.Code, visit func(info *types.Info, node ast.Node)) {
	for _, p := range c.Packages {
		for _, file := range p.Syntax {
			for node := range ast.Preorder(file) {
				visit(p.TypesInfo, node)
			}
		}
	}
}

// mayBeTrue reports whether a value may be true: unless it is false, or a flag that is false by default and is not given.
func mayBeTrue(c *rule.Code, info *types.Info, value ast.Expr, flags map[string]bool) bool {
	if known := info.Types[value].Value; known != nil {
		return known.Kind() != constant.Bool || constant.BoolVal(known)
	}
	variable := variableOf(info, value)
	if variable == nil {
		return true
	}
	defined, may := false, false
	inspect(c, func(info *types.Info, node ast.Node) {
		switch n := node.(type) {
		case *ast.CallExpr:
			if len(n.Args) > 3 && variableOf(info, n.Args[0]) == variable && isAddress(n.Args[0]) {
				defined, may = true, may || flagMayBeTrue(info, n, n.Args[1:], flags)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if variableOf(info, left) != variable {
					continue
				}
				call, ok := n.Rhs[min(i, len(n.Rhs)-1)].(*ast.CallExpr)
				defined, may = true, may || !ok || flagMayBeTrue(info, call, call.Args, flags)
			}
		}
	})
	return !defined || may
}

// flagMayBeTrue reports whether a call defines a flag that may be true, or something else. The arguments begin with the name.
func flagMayBeTrue(info *types.Info, call *ast.CallExpr, arguments []ast.Expr, flags map[string]bool) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(selector.Sel.Name, "Bool") || len(arguments) < 2 {
		return true
	}
	name := info.Types[arguments[0]].Value
	if name == nil || name.Kind() != constant.String || flags[constant.StringVal(name)] {
		return true
	}
	for _, argument := range arguments {
		if value := info.Types[argument].Value; value != nil && value.Kind() == constant.Bool {
			return constant.BoolVal(value)
		}
	}
	return true
}

// variableOf returns the variable or field that an expression is, or whose value or address it is.
func variableOf(info *types.Info, e ast.Expr) types.Object {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		return info.ObjectOf(x)
	case *ast.SelectorExpr:
		return info.ObjectOf(x.Sel)
	case *ast.StarExpr:
		return variableOf(info, x.X)
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return variableOf(info, x.X)
		}
	}
	return nil
}

func isAddress(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.UnaryExpr)
	return ok
}
