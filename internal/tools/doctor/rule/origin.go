package rule

import (
	"go/ast"
	"go/types"
	"reflect"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Origin is the Go source from which a kind, or one of its fields, was generated.
type Origin struct {
	Place
	// Also lists the places of the types that contain it.
	Also []Place
	// Type is the declaration of the type, for a kind; Field is the declaration of the field.
	Type  *ast.GenDecl
	Field *ast.Field
}

// Comment returns the comment above the declaration: its text, and markers such as +optional.
func (o *Origin) Comment() string {
	var groups []*ast.CommentGroup
	if o.Type != nil {
		groups = append(groups, o.Type.Doc)
	}
	if o.Field != nil {
		groups = append(groups, o.Field.Doc)
	}
	var all strings.Builder
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, comment := range group.List {
			all.WriteString(strings.TrimPrefix(comment.Text, "//") + "\n")
		}
	}
	return all.String()
}

// Origin finds a field of a definition in the project's Go types. It returns nil if the field is not there: because the types
// are in another module, or the definition was not generated from Go.
func (s *Subject) Origin(d *Definition, version string, steps []string) *Origin {
	holder, _ := s.Code.kind(d.Typed.Spec.Group, version, d.Kind())
	if holder == nil {
		return nil
	}
	found := s.Code.declaration(holder)
	if found == nil || len(steps) == 0 {
		return found
	}
	at, above, complete := s.Code.walk(holder, steps)
	if !complete || at == nil {
		return nil
	}
	at.Also = above
	return at
}

// Holders returns the places in Go where a comment ignores findings about a field: the field, if it exists, and the types that
// contain it.
func (s *Subject) Holders(d *Definition, version string, steps []string) []Place {
	holder, _ := s.Code.kind(d.Typed.Spec.Group, version, d.Kind())
	if holder == nil {
		return nil
	}
	at, above, complete := s.Code.walk(holder, steps)
	if complete && at != nil {
		above = append(above, at.Place)
	}
	if declared := s.Code.declaration(holder); len(above) == 0 && declared != nil {
		above = append(above, declared.Place)
	}
	return above
}

// walk follows steps from a kind as far as the project's Go types have them. It returns the last field, the types that contain
// it, and whether it followed all steps.
func (c *Code) walk(holder *types.TypeName, steps []string) (at *Origin, above []Place, complete bool) {
	var t types.Type = holder.Type()
	for _, step := range steps {
		if step == "[]" {
			t = element(t)
			continue
		}
		if named := namedOf(t); named != nil {
			if declared := c.declaration(named.Obj()); declared != nil {
				above = append(above, declared.Place)
			}
		}
		field := fieldOf(t, step)
		if field == nil {
			return at, above, false
		}
		if at = c.field(field); at == nil {
			return nil, above, false
		}
		t = field.Type()
	}
	return at, above, true
}

// kind finds the Go type of a kind.
func (c *Code) kind(group, version, kind string) (*types.TypeName, *packages.Package) {
	for _, p := range c.Packages {
		if p.Name != version && !strings.HasSuffix(p.PkgPath, "/"+version) {
			continue
		}
		if named := groupOf(p); named != "" && named != group {
			continue
		}
		if found, ok := p.Types.Scope().Lookup(kind).(*types.TypeName); ok {
			return found, p
		}
	}
	return nil, nil
}

// groupOf returns the API group that a package's marker names.
func groupOf(p *packages.Package) string {
	for _, file := range p.Syntax {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				text := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
				if name, ok := strings.CutPrefix(text, "+groupName="); ok {
					return strings.TrimSpace(name)
				}
			}
		}
	}
	return ""
}

// element returns the element type of a list or map.
func element(t types.Type) types.Type {
	switch under := deref(t).Underlying().(type) {
	case *types.Slice:
		return under.Elem()
	case *types.Array:
		return under.Elem()
	case *types.Map:
		return under.Elem()
	}
	return types.Typ[types.Invalid]
}

func deref(t types.Type) types.Type {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		return types.Unalias(pointer.Elem())
	}
	return types.Unalias(t)
}

func namedOf(t types.Type) *types.Named {
	named, _ := deref(t).(*types.Named)
	return named
}

// fieldOf finds the field with the JSON name, also in embedded structs.
func fieldOf(t types.Type, name string) *types.Var {
	structure, ok := deref(t).Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for i := range structure.NumFields() {
		field := structure.Field(i)
		written, _, _ := strings.Cut(reflect.StructTag(structure.Tag(i)).Get("json"), ",")
		if written == name {
			return field
		}
		if field.Embedded() && written == "" {
			if found := fieldOf(field.Type(), name); found != nil {
				return found
			}
		}
	}
	return nil
}
