package view

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Terminal updates the display of a state in place on a terminal's screen.
type Terminal struct {
	out   *os.File
	style Style
	drawn int // number of lines on the screen
	width int // width for which they were rendered
}

// NewTerminal returns a Terminal on out, or nil if out is not a terminal.
func NewTerminal(out *os.File, style Style) *Terminal {
	if !IsTerminal(out) {
		return nil
	}
	return &Terminal{out: out, style: style}
}

// StyleIf returns the style with or without colors.
func StyleIf(colors bool) Style {
	if colors {
		return Colour
	}
	return Monochrome
}

// StyleFor returns the style for out: colors on a terminal, unless $NO_COLOR is set.
func StyleFor(out *os.File) Style {
	if !IsTerminal(out) || os.Getenv("NO_COLOR") != "" {
		return Monochrome
	}
	return Colour
}

// IsTerminal reports whether out can show a live display rather than lines.
func IsTerminal(out *os.File) bool {
	return term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
}

// Width returns the number of columns of out. If out is not a terminal, the number is large enough.
func Width(out *os.File) int {
	width, _, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 {
		return plainWidth
	}
	return width
}

// plainWidth is the width for files and pipes, in which lines should not be cut.
const plainWidth = 240

// Draw replaces the previous display by the display of a state.
func (t *Terminal) Draw(state State) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	lines := fit(Render(state, width, t.style), height-1)
	fmt.Fprint(t.out, t.replace(lines, width))
}

// Close leaves the last display on the screen and the cursor below it.
func (t *Terminal) Close() { fmt.Fprint(t.out, "\x1b[?25h") }

// replace returns the output that replaces the lines on the screen: without the cursor, in one write, with each line cleared
// after its end, so that the display does not flicker.
func (t *Terminal) replace(lines []string, width int) string {
	var text strings.Builder
	text.WriteString("\x1b[?25l")
	switch {
	case t.width != 0 && t.width != width:
		text.WriteString("\x1b[2J\x1b[H") // the old lines were wrapped at unknown columns
	case t.drawn > 0:
		fmt.Fprintf(&text, "\x1b[%dA\r", t.drawn)
	}
	for _, line := range lines {
		text.WriteString(terminal.Painted(line) + "\x1b[K\n")
	}
	text.WriteString("\x1b[J")
	t.drawn, t.width = len(lines), width
	return text.String()
}

// fit leaves out lines from the middle if there are more than height, because the first lines show the operator and its
// problems, and the last ones the current activity.
func fit(lines []string, height int) []string {
	if len(lines) <= height || height < 3 {
		return lines[:min(len(lines), max(height, 1))]
	}
	end := min(height/2, shownEvents+shownLog+6)
	begin := height - end - 1
	hidden := len(lines) - begin - end
	shown := append([]string{}, lines[:begin]...)
	shown = append(shown, fmt.Sprintf("… %d more lines", hidden))
	return append(shown, lines[len(lines)-end:]...)
}
