package scaffold

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// conversions writes Go code that copies a value from one package's types to the same types in another package, field by
// field, so that an author sees each field and edits those that differ.
type conversions struct {
	// local are the types that the package declares.
	local map[string]ast.Expr
	// prefix is the prefix of the helpers' names, and used holds the helpers that are needed.
	prefix string
	used   map[string]bool
}

// conversion returns the Go code of both methods of the spoke, and of the helpers.
func (n versions) conversion() string {
	c := conversions{local: n.types, prefix: n.Var, used: map[string]bool{}}
	var all strings.Builder
	for _, way := range []struct{ method, letter, doc, from, to, of, hub string }{
		{"ConvertTo", "to", "makes an object of " + n.Hub + ", which is stored.", n.Letter, "to", n.Hub + ".", "no conversion to %T"},
		{"ConvertFrom", "from", "makes an object of this version.", "from", n.Letter, "", "no conversion from %T"},
	} {
		fmt.Fprintf(&all, "\n// %s %s\nfunc (%s *%s) %s(hub conversion.Hub) error {\n", way.method, way.doc, n.Letter, n.Kind, way.method)
		fmt.Fprintf(&all, "%s, ok := hub.(*%s.%s)\nif !ok {\nreturn fmt.Errorf(%q, hub)\n}\n", way.letter, n.Hub, n.Kind, way.hub)
		fmt.Fprintf(&all, "%s.ObjectMeta = %s.ObjectMeta\n", way.to, way.from)
		for _, part := range c.fields(n.Kind) {
			if part.name != "TypeMeta" && part.name != "ObjectMeta" {
				fmt.Fprintf(&all, "%s.%s = %s\n", way.to, part.name, c.value(part.kind, way.from+"."+part.name, way.of, n.other(way.of)))
			}
		}
		all.WriteString("return nil\n}\n")
	}
	return all.String() + c.helpers()
}

// other returns the qualifier of the types to convert from, if of is the qualifier of the types to convert to.
func (n versions) other(of string) string {
	if of == "" {
		return n.Hub + "."
	}
	return ""
}

// part is a field of a struct.
type part struct {
	name string
	kind ast.Expr
}

// fields returns the fields of a struct that the package declares.
func (c conversions) fields(of string) []part {
	structure, ok := c.local[of].(*ast.StructType)
	if !ok {
		return nil
	}
	var all []part
	for _, field := range structure.Fields.List {
		if len(field.Names) == 0 {
			all = append(all, part{embeddedName(field.Type), field.Type})
		}
		for _, name := range field.Names {
			all = append(all, part{name.Name, field.Type})
		}
	}
	return all
}

func embeddedName(kind ast.Expr) string {
	switch e := kind.(type) {
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// value returns an expression that converts the expression from, with type kind, to the same type of the package with the
// qualifier to. The argument own is the qualifier of the type to convert from.
func (c conversions) value(kind ast.Expr, from, to, own string) string {
	if !c.has(kind) {
		return from
	}
	switch e := kind.(type) {
	case *ast.Ident:
		if _, ok := c.local[e.Name].(*ast.StructType); !ok {
			return to + e.Name + "(" + from + ")"
		}
		var all strings.Builder
		for _, field := range c.fields(e.Name) {
			fmt.Fprintf(&all, "%s: %s,\n", field.name, c.value(field.kind, from+"."+field.name, to, own))
		}
		return to + e.Name + "{\n" + all.String() + "}"
	case *ast.StarExpr:
		return c.helped("Pointer", e.X, from, to, own)
	case *ast.ArrayType:
		return c.helped("Each", e.Elt, from, to, own)
	case *ast.MapType:
		return c.helped("Values", e.Value, from, to, own)
	}
	return from
}

// helped converts the value of a pointer, or the elements of a list or map.
func (c conversions) helped(helper string, kind ast.Expr, from, to, own string) string {
	c.used[helper] = true
	return fmt.Sprintf("%s%s(%s, func(in %s) %s {\nreturn %s\n})", c.prefix, helper, from, c.typed(kind, own), c.typed(kind, to), c.value(kind, "in", to, own))
}

// typed returns a type in Go syntax, with the package's own types qualified.
func (c conversions) typed(kind ast.Expr, qualifier string) string {
	switch e := kind.(type) {
	case *ast.Ident:
		if _, ok := c.local[e.Name]; ok {
			return qualifier + e.Name
		}
	case *ast.StarExpr:
		return "*" + c.typed(e.X, qualifier)
	case *ast.ArrayType:
		return "[]" + c.typed(e.Elt, qualifier)
	case *ast.MapType:
		return "map[" + c.typed(e.Key, qualifier) + "]" + c.typed(e.Value, qualifier)
	}
	return types.ExprString(kind)
}

// has reports whether a type contains a type that the package declares.
func (c conversions) has(kind ast.Expr) bool {
	found := false
	ast.Inspect(kind, func(node ast.Node) bool {
		if _, ok := node.(*ast.SelectorExpr); ok {
			return false
		}
		if name, ok := node.(*ast.Ident); ok && c.local[name.Name] != nil {
			found = true
		}
		return true
	})
	return found
}

// helperCode holds functions for conversions that Go has no expression for.
var helperCode = map[string]string{
	"Pointer": `
func %sPointer[A, B any](in *A, convert func(A) B) *B {
	if in == nil {
		return nil
	}
	return new(convert(*in))
}
`,
	"Each": `
func %sEach[A, B any](in []A, convert func(A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i, one := range in {
		out[i] = convert(one)
	}
	return out
}
`,
	"Values": `
func %sValues[K comparable, A, B any](in map[K]A, convert func(A) B) map[K]B {
	if in == nil {
		return nil
	}
	out := make(map[K]B, len(in))
	for key, one := range in {
		out[key] = convert(one)
	}
	return out
}
`,
}

func (c conversions) helpers() string {
	var all []string
	for name := range c.used {
		all = append(all, fmt.Sprintf(helperCode[name], c.prefix))
	}
	slices.Sort(all)
	return strings.Join(all, "")
}
