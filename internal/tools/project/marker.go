package project

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// Marker is a comment for generators: it begins with a plus sign.
type Marker struct {
	// Text is the text after the plus sign.
	Text string
	// Line is its line in the file.
	Line int
}

// Is reports whether the marker has this name, whatever its arguments are.
func (m Marker) Is(name string) bool {
	rest, ok := strings.CutPrefix(m.Text, name)
	return ok && (rest == "" || rest[0] == ':' || rest[0] == '=')
}

// unquote removes the quotes from the value of a marker.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	if plain, err := strconv.Unquote(text); err == nil && text[0] != '\'' {
		return plain
	}
	return text
}

// markers returns the markers in comments.
func (p *apiPackage) markers(groups ...*ast.CommentGroup) []Marker {
	var all []Marker
	for _, group := range groups {
		for _, comment := range group.List {
			text, single := strings.CutPrefix(comment.Text, "//")
			if text, marks := strings.CutPrefix(strings.TrimSpace(text), "+"); single && marks {
				all = append(all, Marker{Text: text, Line: p.fset.Position(comment.Pos()).Line})
			}
		}
	}
	return all
}

// markersAbove returns the markers between two positions that belong to the declaration that follows: those in its
// documentation, and in the comment group before that.
func (p *apiPackage) markersAbove(tree *ast.File, after, before token.Pos) []Marker {
	var between []*ast.CommentGroup
	for _, group := range tree.Comments {
		if group.Pos() > after && group.End() <= before {
			between = append(between, group)
		}
	}
	last := len(between) - 1
	if last < 0 {
		return nil
	}
	documented := p.fset.Position(between[last].End()).Line+1 >= p.fset.Position(before).Line
	if documented && last > 0 {
		last--
	}
	return p.markers(between[last:]...)
}
