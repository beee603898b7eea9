// Package terminal prepares text for terminals: it measures, pads, cuts and wraps text by the columns that characters take, and
// removes control characters from text that comes from a cluster. Such text could otherwise clear the screen, forge lines, or
// change the title of the window (CVE-2021-25743).
package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Escape sequences for Look.Paint.
const (
	Bold   = "\x1b[1m"
	Dim    = "\x1b[2m"
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

const (
	// DefaultWidth is the width for files and logs.
	DefaultWidth = 100
	// MaxWidth is the width above which lines are hard to read.
	MaxWidth = 120
	// minWidth is the width below which lines wrap.
	minWidth = 40
)

// Look describes how text is written for a terminal, a file or a log.
type Look struct {
	// Width is the number of columns, by default [DefaultWidth].
	Width int
	// Colour enables escape sequences. Leave it false without a terminal, and if $NO_COLOR is set.
	Colour bool
}

// Columns returns the width to write for, which is neither too small nor too large to read.
func (l Look) Columns() int {
	if l.Width == 0 {
		return DefaultWidth
	}
	return max(minWidth, min(l.Width, MaxWidth))
}

// Paint shows a text in a color.
func (l Look) Paint(colour, text string) string {
	if !l.Colour || text == "" || colour == "" {
		return text
	}
	return colour + text + reset
}

// Clean replaces control characters, escape sequences and characters that change the reading direction. It keeps newlines and
// tabs.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return '�'
		}
		return r
	}, text)
}

// Line returns a clean text in one line.
func Line(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// Unstyled returns the output of a program, such as a log line, clean and without the program's colors.
func Unstyled(text string) string { return Clean(ansi.Strip(text)) }

// Width returns the number of columns of a text. Escape sequences have no width, and wide characters have two columns.
func Width(text string) int { return ansi.StringWidth(text) }

// Pad adds spaces up to a width.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

// Cut cuts the end of a text that is wider than width. Escape sequences are kept, so that the following text has its colors.
func Cut(text string, width int) string { return ansi.Truncate(text, max(0, width), "…") }

// CutMiddle cuts the middle of a text without escape sequences that is wider than width, because names differ at their ends.
func CutMiddle(text string, width int) string {
	all := Width(text)
	if all <= width || width < 3 {
		return Cut(text, width)
	}
	head := ansi.Truncate(text, (width-1)/2, "") + "…"
	room := width - Width(head)
	tail := ansi.TruncateLeft(text, all-room, "")
	if Width(tail) > room { // half of a wide character
		tail = ansi.TruncateLeft(text, all-room+1, "")
	}
	return head + tail
}

// Wrap breaks a text into clean lines at spaces. It also breaks a word that is wider than a line.
func Wrap(text string, width int) []string {
	width = max(width, 2) // otherwise a wide character would never fit
	var lines []string
	now := ""
	for _, word := range strings.Fields(Clean(text)) {
		if now != "" && Width(now+" "+word) > width { // the sum is not exact for combining characters
			lines, now = append(lines, now), ""
		}
		for Width(word) > width {
			end := fitting(word, width)
			lines, word = append(lines, word[:end]), word[end:]
		}
		now = strings.TrimSpace(now + " " + word)
	}
	if now != "" {
		lines = append(lines, now)
	}
	return lines
}

// fitting returns the length of the longest prefix of a text that fits, and at least one character.
func fitting(text string, width int) int {
	_, end := utf8.DecodeRuneInString(text)
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if Width(text[:end+size]) > width {
			break
		}
		end += size
	}
	return end
}
