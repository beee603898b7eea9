package operontest

import (
	"slices"
	"strings"
)

// around is the number of equal lines that are shown around a difference.
const around = 3

// difference shows the lines that only one of the texts has, with - and +, and the lines around them.
func difference(want, got string) string {
	return strings.Join(abridged(compare(lines(want), lines(got))), "\n")
}

func lines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// compare aligns two lists so that as many lines as possible are equal. Each line of the result begins with "  ", "- " for a
// line that only want has, or "+ " for a line that only got has.
func compare(want, got []string) []string {
	// common[i][j] is the number of lines that want[i:] and got[j:] have in common.
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
	var aligned []string
	for len(want) > 0 || len(got) > 0 {
		i, j := len(common)-1-len(want), len(common[0])-1-len(got)
		switch {
		case len(want) > 0 && len(got) > 0 && want[0] == got[0]:
			aligned = append(aligned, "  "+want[0])
			want, got = want[1:], got[1:]
		case len(got) == 0 || len(want) > 0 && common[i+1][j] >= common[i][j+1]:
			aligned = append(aligned, "- "+want[0])
			want = want[1:]
		default:
			aligned = append(aligned, "+ "+got[0])
			got = got[1:]
		}
	}
	return aligned
}

// abridged omits equal lines that are far from any difference.
func abridged(aligned []string) []string {
	var shown []string
	for i, line := range aligned {
		near := aligned[max(0, i-around):min(len(aligned), i+around+1)]
		if slices.ContainsFunc(near, differs) {
			shown = append(shown, line)
			continue
		}
		if len(shown) == 0 || shown[len(shown)-1] != "  ..." {
			shown = append(shown, "  ...")
		}
	}
	return shown
}

func differs(line string) bool { return !strings.HasPrefix(line, "  ") }
