package derive

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operon-framework/operon/internal/core/kindscope"
	"github.com/operon-framework/operon/internal/tools/project"
)

// looseKind returns the kind of an object whose Go type does not determine it, if it is set to constants.
func (d *deriving) looseKind(from source) (kind, bool) {
	group, name := "", ""
	if variables := d.variables(from, map[ast.Expr]bool{}); len(variables) > 0 {
		for _, c := range d.calls {
			method, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
			if !ok || !slices.Contains(variables, target(c.unit, method.X)) {
				continue
			}
			switch c.callee.Name() {
			case "SetGroupVersionKind":
				group, name = d.groupKind(source{unit: c.unit, expr: argument(c, 0)}, 0)
			case "SetAPIVersion":
				group = schema.FromAPIVersionAndKind(constantOf(c.unit, argument(c, 0)), "").Group
			case "SetKind":
				name = constantOf(c.unit, argument(c, 0))
			}
		}
	}
	for _, lit := range d.made(from, map[ast.Expr]bool{}) {
		if g, n := literalKind(lit); n != "" {
			group, name = g, n
		}
	}
	name = strings.TrimSuffix(name, "List")
	if name == "" {
		return kind{}, false
	}
	return d.named(group, name), true
}

// named returns a kind of which only the name is known: from the project's own types, or by convention.
func (d *deriving) named(group, name string) kind {
	for _, u := range d.units {
		if declared, ok := u.types.Scope().Lookup(name).(*types.TypeName); ok {
			if named, ok := declared.Type().(*types.Named); ok {
				if k, ok := d.kindOf(named); ok && k.Group == group {
					return k
				}
			}
		}
	}
	for _, gvk := range wellKnown() {
		if gvk.Group == group && gvk.Kind == name {
			plural, _ := meta.UnsafeGuessKindToResource(gvk)
			return kind{Group: group, Kind: name, Resource: plural.Resource, Cluster: kindscope.IsCluster(gvk.GroupKind())}
		}
	}
	cluster := kindscope.IsCluster(schema.GroupKind{Group: group, Kind: name})
	return kind{Group: group, Kind: name, Resource: project.Plural(name), Cluster: cluster, Unscoped: !cluster}
}

// deepest is the maximum depth to which constants are followed.
const deepest = 5

// groupKind returns the group and kind in a constant schema.GroupVersionKind or GroupVersion.
func (d *deriving) groupKind(from source, depth int) (group, name string) {
	if from.expr == nil || depth > deepest {
		return "", ""
	}
	switch e := ast.Unparen(from.expr).(type) {
	case *ast.CompositeLit:
		fields := map[string]string{}
		for i, element := range e.Elts {
			if pair, keyed := element.(*ast.KeyValueExpr); keyed {
				if key, ok := pair.Key.(*ast.Ident); ok {
					fields[key.Name] = constantOf(from.unit, pair.Value)
				}
				continue
			}
			fields[[]string{"Group", "Version", "Kind"}[min(i, 2)]] = constantOf(from.unit, element)
		}
		return fields["Group"], fields["Kind"]
	case *ast.Ident:
		for _, value := range d.values[target(from.unit, e)] {
			return d.groupKind(value, depth+1)
		}
	case *ast.SelectorExpr:
		if of := target(from.unit, e); of != nil && of.Pkg() != nil {
			for _, value := range d.values[of] {
				return d.groupKind(value, depth+1)
			}
			if group, ok := of.Pkg().Scope().Lookup("GroupName").(*types.Const); ok {
				return constant.StringVal(group.Val()), ""
			}
		}
	case *ast.CallExpr:
		method, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
		if ok && method.Sel.Name == "WithKind" && len(e.Args) == 1 {
			group, _ = d.groupKind(source{unit: from.unit, expr: method.X}, depth+1)
			return group, constantOf(from.unit, e.Args[0])
		}
		if ok && method.Sel.Name == "FromAPIVersionAndKind" && len(e.Args) == 2 {
			gvk := schema.FromAPIVersionAndKind(constantOf(from.unit, e.Args[0]), constantOf(from.unit, e.Args[1]))
			return gvk.Group, gvk.Kind
		}
	}
	return "", ""
}

// literalKind returns the group and kind in a literal: an unstructured object's map, or TypeMeta.
func literalKind(lit source) (group, name string) {
	said := map[string]string{}
	ast.Inspect(lit.expr, func(node ast.Node) bool {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		value, key := constantOf(lit.unit, pair.Value), constantOf(lit.unit, pair.Key)
		if ident, ok := pair.Key.(*ast.Ident); ok && key == "" {
			key = map[string]string{"APIVersion": "apiVersion", "Kind": "kind"}[ident.Name]
		}
		if (key == "apiVersion" || key == "kind") && said[key] == "" { // the outermost is first
			said[key] = value
		}
		return true
	})
	if said["kind"] == "" {
		return "", ""
	}
	return schema.FromAPIVersionAndKind(said["apiVersion"], "").Group, said["kind"]
}

// kindMarker specifies the kind of an object if the code does not determine it.
const kindMarker = "+operon:kind:"

// markersAt returns the kinds in markers on a line, or in the lines directly above it.
func (d *deriving) markersAt(at token.Pos) (kinds []kind, told bool) {
	line := d.place(at)
	for _, u := range d.units {
		for _, file := range u.Syntax {
			if at < file.FileStart || at >= file.FileEnd {
				continue
			}
			for _, group := range file.Comments {
				last := d.place(group.End()).Line
				if last != line.Line && last != line.Line-1 {
					continue
				}
				for _, comment := range group.List {
					if text, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(comment.Text, "//")), kindMarker); ok {
						kinds, told = append(kinds, d.parsed(comment.Pos(), text)...), true
					}
				}
			}
		}
	}
	return kinds, told
}

// parsed parses the arguments of a kind marker.
func (d *deriving) parsed(at token.Pos, text string) []kind {
	var made kind
	for argument := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(argument, "=")
		switch value = strings.Trim(value, `"`); name {
		case "group":
			made.Group = value
		case "resource":
			made.Resource = value
		case "scope":
			made.Cluster = value == "Cluster"
		default:
			d.note(at, "+operon:kind: %q is not an argument of it: want group, resource or scope=Cluster", name)
			return nil
		}
	}
	if made.Resource == "" {
		d.note(at, "+operon:kind: it lacks resource=PLURAL")
		return nil
	}
	return []kind{made}
}
