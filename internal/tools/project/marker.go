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

// Is tells whether the marker is of that name, whatever its arguments are.
func (m Marker) Is(name string) bool {
	rest, ok := strings.CutPrefix(m.Text, name)
	return ok && (rest == "" || rest[0] == ':' || rest[0] == '=')
}

// Arguments are the arguments of a marker of that name, without quotes; a single one that has no name is
// under "". Nil where the marker has another name, or no arguments.
func (m Marker) Arguments(name string) map[string]string {
	rest, ok := strings.CutPrefix(m.Text, name)
	if !ok || rest == "" {
		return nil
	}
	if value, anonymous := strings.CutPrefix(rest, "="); anonymous {
		return map[string]string{"": unquote(value)}
	}
	if rest[0] != ':' {
		return nil
	}
	arguments := map[string]string{}
	for _, each := range splitOutside(rest[1:], ",") {
		key, value, _ := strings.Cut(each, "=")
		arguments[strings.TrimSpace(key)] = unquote(value)
	}
	return arguments
}

// listed takes a list apart: a;b;c or {a,b,c}.
func listed(value string) []string {
	separators := ";"
	if inner, ok := strings.CutPrefix(value, "{"); ok {
		value, separators = strings.TrimSuffix(inner, "}"), ","
	}
	var all []string
	for _, each := range splitOutside(value, separators) {
		if each = unquote(each); each != "" {
			all = append(all, each)
		}
	}
	return all
}

// splitOutside splits at separators that stand in no quotes and no braces.
func splitOutside(text, separators string) []string {
	var parts []string
	var quote rune
	depth, start := 0, 0
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote && (quote == '`' || text[i-1] != '\\') {
				quote = 0
			}
		case r == '"' || r == '`':
			quote = r
		case r == '{':
			depth++
		case r == '}':
			depth--
		case depth == 0 && strings.ContainsRune(separators, r):
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// unquote is the text as it is meant: what is not quoted stays as it is.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	if plain, err := strconv.Unquote(text); err == nil && len(text) > 1 && text[0] != '\'' {
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
