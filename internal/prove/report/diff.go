package report

import (
	"fmt"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/operon-framework/operon/internal/prove/finding"
	"github.com/operon-framework/operon/internal/tools/terminal"
)

// diffLine is a line of a difference. Its sign is "-" for an expected line, "+" for a found line,
// and a space for a line in both.
type diffLine struct {
	Sign string
	Text string
}

// nothing stands for a missing value.
const nothing = "(nothing)"

// Limits of the differences that are shown.
const (
	shownDifferences = 8
	shownLines       = 40
)

// difference is a difference in the form in which it is shown.
type difference struct {
	// Of is the object and the field.
	Of    string
	Lines []diffLine
}

// differences formats the differences of a finding. It returns how many others are not included.
func differences(f *finding.Finding) (all []difference, more int) {
	for _, d := range f.Diff[:min(len(f.Diff), shownDifferences)] {
		of := terminal.Line(d.Of)
		if d.Path != "" {
			of += " " + terminal.Line(d.Path)
		}
		all = append(all, difference{Of: short(of, 200), Lines: between(d.Want, d.Got)})
	}
	return all, len(f.Diff) - len(all)
}

// between returns the differences between two values as lines.
func between(want, got string) []diffLine {
	lines := align(sides(want), sides(got))
	if len(lines) <= shownLines {
		return lines
	}
	rest := len(lines) - shownLines
	return append(lines[:shownLines:shownLines], diffLine{" ", fmt.Sprintf("… %d more lines", rest)})
}

func sides(value string) []string {
	if value == "" {
		return []string{nothing}
	}
	return spread(value)
}

// align matches equal lines of two texts.
func align(want, got []string) []diffLine {
	var lines []diffLine
	add := func(sign string, texts []string) {
		for _, text := range texts {
			lines = append(lines, diffLine{sign, text})
		}
	}
	for _, op := range difflib.NewMatcher(want, got).GetOpCodes() {
		if op.Tag == 'e' {
			add(" ", want[op.I1:op.I2])
			continue
		}
		add("-", want[op.I1:op.I2])
		add("+", got[op.J1:op.J2])
	}
	return lines
}
