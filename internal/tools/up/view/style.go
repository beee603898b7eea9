package view

import (
	"github.com/operon-framework/operon/internal/tools/terminal"
	"github.com/operon-framework/operon/internal/tools/up/tree"
)

// Style defines whether colors are used.
type Style string

// The styles.
const (
	Colour     Style = "colour"
	Monochrome Style = "monochrome"
)

func (s Style) in(escape, text string) string {
	return terminal.Look{Colour: s == Colour}.Paint(escape, text)
}

func (s Style) bold(text string) string   { return s.in(terminal.Bold, text) }
func (s Style) dim(text string) string    { return s.in(terminal.Dim, text) }
func (s Style) red(text string) string    { return s.in(terminal.Red, text) }
func (s Style) green(text string) string  { return s.in(terminal.Green, text) }
func (s Style) yellow(text string) string { return s.in(terminal.Yellow, text) }

// state colors a text according to a state.
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
