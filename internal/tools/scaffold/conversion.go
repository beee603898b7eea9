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
	// functions are the functions that convert types that contain themselves, by their names.
	functions map[string]string
}

// conversion returns the Go code of both methods of the spoke, and of the helpers.
func (n versions) conversion() string {
	c := conversions{local: n.types, prefix: n.Var, used: map[string]bool{}, functions: map[string]string{}}
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
		if c.recursive(e.Name) {
			return c.call(e.Name, from, to, own)
		}
		return c.named(e.Name, from, to, own)
	case *ast.StarExpr:
		return c.helped("Pointer", e.X, from, to, own)
	case *ast.ArrayType:
		return c.helped("Each", e.Elt, from, to, own)
	case *ast.MapType:
		if c.has(e.Key) {
			return c.entries(e, from, to, own)
		}
		return c.helped("Values", e.Value, from, to, own)
	}
	return from
}

// named returns an expression that converts a value of a type that the package declares.
func (c conversions) named(name, from, to, own string) string {
	kind := c.local[name]
	if of, ok := kind.(*ast.Ident); ok && c.local[of.Name] != nil {
		from = own + of.Name + "(" + from + ")"
	}
	if _, ok := kind.(*ast.StructType); !ok {
		return to + name + "(" + c.value(kind, from, to, own) + ")"
	}
	var all strings.Builder
	for _, field := range c.fields(name) {
		fmt.Fprintf(&all, "%s: %s,\n", field.name, c.value(field.kind, from+"."+field.name, to, own))
	}
	return to + name + "{\n" + all.String() + "}"
}

// call returns a call of the function that converts a type that contains itself.
func (c conversions) call(name, from, to, own string) string {
	function := c.prefix + name + "To"
	if to == "" {
		function = c.prefix + name + "From"
	}
	if _, begun := c.functions[function]; !begun {
		c.functions[function] = "" // its code calls it
		c.functions[function] = fmt.Sprintf("\nfunc %s(in %s%s) %s%s {\nreturn %s\n}\n", function, own, name, to, name, c.named(name, "in", to, own))
	}
	return function + "(" + from + ")"
}

// recursive reports whether a type contains itself, in a list for example.
func (c conversions) recursive(name string) bool {
	seen := map[string]bool{}
	var reach func(string)
	reach = func(of string) {
		for _, next := range c.names(c.local[of]) {
			if !seen[next] {
				seen[next] = true
				reach(next)
			}
		}
	}
	reach(name)
	return seen[name]
}

// helped converts the value of a pointer, or the elements of a list or map.
func (c conversions) helped(helper string, kind ast.Expr, from, to, own string) string {
	c.used[helper] = true
	return fmt.Sprintf("%s%s(%s, func(in %s) %s {\nreturn %s\n})", c.prefix, helper, from, c.typed(kind, own), c.typed(kind, to), c.value(kind, "in", to, own))
}

// entries converts a map whose keys have a type that the package declares. The file may not import the type of other values.
func (c conversions) entries(of *ast.MapType, from, to, own string) string {
	convert := func(kind ast.Expr) string {
		return fmt.Sprintf("func(in %s) %s {\nreturn %s\n}", c.typed(kind, own), c.typed(kind, to), c.value(kind, "in", to, own))
	}
	if !c.has(of.Value) {
		c.used["Keys"] = true
		return fmt.Sprintf("%sKeys(%s, %s)", c.prefix, from, convert(of.Key))
	}
	c.used["Entries"] = true
	return fmt.Sprintf("%sEntries(%s, %s, %s)", c.prefix, from, convert(of.Key), convert(of.Value))
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
func (c conversions) has(kind ast.Expr) bool { return len(c.names(kind)) > 0 }

// names returns the types that the package declares and that a type contains.
func (c conversions) names(kind ast.Expr) (names []string) {
	if kind == nil {
		return nil
	}
	ast.Inspect(kind, func(node ast.Node) bool {
		switch e := node.(type) {
		case *ast.SelectorExpr:
			return false
		case *ast.Field:
			names = append(names, c.names(e.Type)...) // its name is no type
			return false
		case *ast.Ident:
			if c.local[e.Name] != nil {
				names = append(names, e.Name)
			}
		}
		return true
	})
	return names
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
	"Keys": `
func %sKeys[K, L comparable, V any](in map[K]V, key func(K) L) map[L]V {
	if in == nil {
		return nil
	}
	out := make(map[L]V, len(in))
	for at, one := range in {
		out[key(at)] = one
	}
	return out
}
`,
	"Entries": `
func %sEntries[K, L comparable, A, B any](in map[K]A, key func(K) L, convert func(A) B) map[L]B {
	if in == nil {
		return nil
	}
	out := make(map[L]B, len(in))
	for at, one := range in {
		out[key(at)] = convert(one)
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
	for _, code := range c.functions {
		all = append(all, code)
	}
	slices.Sort(all)
	return strings.Join(all, "")
}
