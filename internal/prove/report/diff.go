package report

import (
	"fmt"

	"github.com/operon-framework/operon/internal/prove/finding"
)

// diffLine is a line of a difference. Its sign is - for what was expected, + for what was found,
// and a space for what is in both.
type diffLine struct {
	Sign string
	Text string
}

// nothing stands for a value that is not there.
const nothing = "(nothing)"

// Limits of what is shown of differences.
const (
	shownDifferences = 8
	shownLines       = 40
)

// difference is one, ready to be shown.
type difference struct {
	// Of is the object, with the field.
	Of    string
	Lines []diffLine
}

// differences lays out those of a finding, and says how many more there are.
func differences(f *finding.Finding) (all []difference, more int) {
	for _, d := range f.Diff[:min(len(f.Diff), shownDifferences)] {
		of := line(d.Of)
		if d.Path != "" {
			of += " " + line(d.Path)
		}
		all = append(all, difference{Of: short(of, 200), Lines: between(d.Want, d.Got)})
	}
	return all, len(f.Diff) - len(all)
}

// between shows what differs between two values.
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

// align finds the lines that both texts have, as many as possible.
func align(want, got []string) []diffLine {
	common := make([][]int, len(want)+1)
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var lines []diffLine
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			lines = append(lines, diffLine{" ", want[i]})
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, diffLine{"-", want[i]})
			i++
		default:
			lines = append(lines, diffLine{"+", got[j]})
			j++
		}
	}
	return lines
}
