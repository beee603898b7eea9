package view

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/operon-framework/operon/internal/tools/terminal"
)

// Terminal keeps the picture of a state in its place on a terminal's screen.
type Terminal struct {
	out   *os.File
	style Style
	drawn int // lines that stand on the screen
	width int // columns that they were made for
}

// NewTerminal returns a Terminal on out, nil when out is none.
func NewTerminal(out *os.File) *Terminal {
	if !IsTerminal(out) {
		return nil
	}
	return &Terminal{out: out, style: StyleFor(out)}
}

// StyleFor is the style that suits out: colors on a terminal, unless $NO_COLOR asks for none.
func StyleFor(out *os.File) Style {
	if !IsTerminal(out) || os.Getenv("NO_COLOR") != "" {
		return Monochrome
	}
	return Colour
}

// IsTerminal reports whether out shows a picture rather than lines.
func IsTerminal(out *os.File) bool {
	return term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
}

// Width is how many columns out has; what is no terminal has enough.
func Width(out *os.File) int {
	width, _, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 {
		return plainWidth
	}
	return width
}

// plainWidth is for files and pipes, where a line should not be cut.
const plainWidth = 240

// Draw puts the picture of a state instead of the one before.
func (t *Terminal) Draw(state State) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	lines := fit(Render(state, width, t.style), height-1)
	fmt.Fprint(t.out, t.replace(lines, width))
}

// Close leaves the last picture on the screen and the cursor below it.
func (t *Terminal) Close() { fmt.Fprint(t.out, "\x1b[?25h") }

// replace is what puts lines instead of those that stand there: without the cursor, in
// one piece, each line cleared behind its end, so that nothing flickers.
func (t *Terminal) replace(lines []string, width int) string {
	var text strings.Builder
	text.WriteString("\x1b[?25l")
	switch {
	case t.width != 0 && t.width != width:
		text.WriteString("\x1b[2J\x1b[H") // the old lines have been wrapped who knows where
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

// fit leaves out lines from the middle when there are more than height, for the beginning
// tells of the operator and its problems, and the end of what is continuing.
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
