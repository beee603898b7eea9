package house

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestCommentsAreOfWhatFollows rejects a doc comment that begins with the name of another field or constant of the same block: it is in the wrong place.
func TestCommentsAreOfWhatFollows(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, p := range sources(t) {
		for _, file := range p.files {
			ast.Inspect(file, func(node ast.Node) bool {
				members := membersOf(node)
				for i, of := range members {
					if len(of.doc) == 0 {
						continue
					}
					checked++
					other := func(m member) bool { return slices.Contains(m.names, of.doc[0]) }
					if !other(of) && (slices.ContainsFunc(members[:i], other) || slices.ContainsFunc(members[i+1:], other)) {
						t.Errorf("in %s, the comment of %s is one of %s: %s", p.dir, of.names[0], of.doc[0], strings.Join(of.doc, " "))
					}
				}
				return true
			})
		}
	}
	if checked == 0 {
		t.Error("no comment was checked")
	}
}

// member is a field of a struct, a method of an interface, or a constant or variable of a block, with the words of its comment.
type member struct{ names, doc []string }

func membersOf(node ast.Node) (all []member) {
	switch n := node.(type) {
	case *ast.FieldList:
		for _, field := range n.List {
			all = append(all, memberOf(field.Names, field.Doc))
		}
	case *ast.GenDecl:
		for _, spec := range n.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok {
				all = append(all, memberOf(value.Names, value.Doc))
			}
		}
	}
	return slices.DeleteFunc(all, func(m member) bool { return len(m.names) == 0 }) // an embedded type has no name
}

func memberOf(names []*ast.Ident, doc *ast.CommentGroup) member {
	m := member{doc: strings.Fields(doc.Text())}
	for _, name := range names {
		m.names = append(m.names, name.Name)
	}
	return m
}
