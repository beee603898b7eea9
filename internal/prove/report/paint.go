package report

import (
	"strings"
	"unicode/utf8"
)

// Look is how text is written for a terminal, a file or a log.
type Look struct {
	// Width is how many columns there are, [DefaultWidth] where it is 0.
	Width int
	// Colour: escape sequences are used. Leave it false where there is no terminal, and where
	// $NO_COLOR is set.
	Colour bool
}

// DefaultWidth is for files and logs.
const DefaultWidth = 100

// Limits of what is used of a terminal: below, it wraps; above, lines are hard to read.
const (
	minWidth = 40
	maxWidth = 120
)

func (l Look) width() int {
	if l.Width == 0 {
		return DefaultWidth
	}
	return max(minWidth, min(l.Width, maxWidth))
}

// colour is a way of a terminal to show text.
type colour string

const (
	plain  colour = ""
	bold   colour = "\x1b[1m"
	dim    colour = "\x1b[2m"
	red    colour = "\x1b[31m"
	green  colour = "\x1b[32m"
	yellow colour = "\x1b[33m"
	reset         = "\x1b[0m"
)

// paint shows a text in a colour.
func (l Look) paint(c colour, text string) string {
	if !l.Colour || c == plain || text == "" {
		return text
	}
	return string(c) + text + reset
}

// columns counts those of a text without escape sequences.
func columns(text string) int { return utf8.RuneCountInString(text) }

// fill adds spaces up to a width.
func fill(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// clip cuts a text without escape sequences to a width, in the middle: names differ at their ends.
func clip(text string, width int) string {
	if columns(text) <= width {
		return text
	}
	if width < 3 {
		return strings.Repeat("…", max(0, min(width, 1)))
	}
	runes := []rune(text)
	head := (width - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}

// cutOff cuts a text without escape sequences to a width, at its end.
func cutOff(text string, width int) string {
	if columns(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// wrap breaks a text into lines at spaces. A word that is longer than a line is broken, too.
func wrap(text string, width int) []string {
	width = max(width, 1)
	var lines []string
	now := ""
	for _, word := range strings.Fields(clean(text)) {
		if now != "" && columns(now)+1+columns(word) > width {
			lines, now = append(lines, now), ""
		}
		for columns(word) > width {
			runes := []rune(word)
			lines, word = append(lines, string(runes[:width])), string(runes[width:])
		}
		now = strings.TrimSpace(now + " " + word)
	}
	if now != "" {
		lines = append(lines, now)
	}
	return lines
}
