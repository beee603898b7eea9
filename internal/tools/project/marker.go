package project

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// Marker is a comment that generators read: it begins with a plus sign.
type Marker struct {
	// Text is what follows the plus sign.
	Text string
	// Line is where it stands in its file.
	Line int
}

// Is reports whether the marker is of that name, whatever its arguments are.
func (m Marker) Is(name string) bool {
	rest, ok := strings.CutPrefix(m.Text, name)
	return ok && (rest == "" || rest[0] == ':' || rest[0] == '=')
}

// unquote returns the value of a marker without quotes.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	if plain, err := strconv.Unquote(text); err == nil && text[0] != '\'' {
		return plain
	}
	return text
}

// markers are the markers in comments.
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

// markersAbove are those that stand between two places and belong to what follows: its documentation, and
// the group of comments before that.
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
