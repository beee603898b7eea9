package terminal

import (
	"fmt"
	"strings"
)

// margin is the width of the names of sections.
const margin = 12

// Page is a text of lines and named sections.
type Page struct{ strings.Builder }

// Lines adds lines.
func (p *Page) Lines(lines ...string) {
	for _, line := range lines {
		p.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// Section adds an empty line, and lines next to the name of their section. It adds nothing if there are no lines.
func (p *Page) Section(name string, lines []string) {
	if len(lines) > 0 {
		p.WriteString("\n")
	}
	p.Fields(name, lines)
}

// Fields is like Section, without the empty line.
func (p *Page) Fields(name string, lines []string) {
	for _, line := range lines {
		p.Lines(fmt.Sprintf("%-*s%s", margin, name, line))
		name = ""
	}
}
