package view

import (
	"strings"
	"unicode/utf8"

	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// Style is whether colours are used.
type Style string

// The styles.
const (
	Colour     Style = "colour"
	Monochrome Style = "monochrome"
)

// Escape sequences of the terminal.
const (
	escapeReset  = "\x1b[0m"
	escapeBold   = "\x1b[1m"
	escapeDim    = "\x1b[2m"
	escapeRed    = "\x1b[31m"
	escapeGreen  = "\x1b[32m"
	escapeYellow = "\x1b[33m"
)

func (s Style) in(escape, text string) string {
	if s != Colour || text == "" {
		return text
	}
	return escape + text + escapeReset
}

func (s Style) bold(text string) string   { return s.in(escapeBold, text) }
func (s Style) dim(text string) string    { return s.in(escapeDim, text) }
func (s Style) red(text string) string    { return s.in(escapeRed, text) }
func (s Style) green(text string) string  { return s.in(escapeGreen, text) }
func (s Style) yellow(text string) string { return s.in(escapeYellow, text) }

// state colours a text as a state deserves.
func (s Style) state(state tree.State, text string) string {
	switch state {
	case tree.Ready:
		return s.green(text)
	case tree.Failed, tree.Missing:
		return s.red(text)
	default:
		return s.yellow(text)
	}
}

// columns counts the columns that a text without escapes takes.
func columns(text string) int { return utf8.RuneCountInString(text) }

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// cut shortens a line to width columns. Escapes take no column and are kept, so that what
// follows a cut has its colours.
func cut(line string, width int) string {
	if columns(line) <= width {
		return line
	}
	var short strings.Builder
	taken, inEscape, styled := 0, false, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			inEscape, styled = true, true
		case inEscape:
			inEscape = r != 'm'
		case taken == width-1 && visibleAfter(line, width):
			short.WriteRune('…')
			if styled {
				short.WriteString(escapeReset)
			}
			return short.String()
		default:
			taken++
		}
		short.WriteRune(r)
	}
	return short.String()
}

// visibleAfter reports whether a line has more than width visible columns.
func visibleAfter(line string, width int) bool {
	visible, inEscape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			inEscape = true
		case inEscape:
			inEscape = r != 'm'
		default:
			visible++
		}
	}
	return visible > width
}
