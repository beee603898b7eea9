// Package report contains code that the benchmarks share: measurements of Operon and of a peer in the same run, whose ratios
// are compared with goals and printed as a Markdown table, and the resource usage of processes.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Figure is a row of the table. Without a peer, the value itself is compared with the goal.
type Figure struct {
	Name string `json:"name"`
	// Operon and Peer are values in readable form, such as "1.05 s".
	Operon string `json:"operon"`
	Peer   string `json:"peer,omitempty"`
	// Ratio is Operon's value divided by the peer's; 0 without a peer.
	Ratio float64 `json:"ratio,omitempty"`
	// Goal is empty if the value is printed without a goal.
	Goal string  `json:"goal,omitempty"`
	Met  Verdict `json:"met"`
}

// Verdict reports whether a goal was met.
type Verdict string

// The verdicts.
const (
	Met    Verdict = "yes"
	Missed Verdict = "no"
	None   Verdict = "–"
)

// Judge returns the verdict for a goal.
func Judge(ok bool) Verdict {
	if ok {
		return Met
	}
	return Missed
}

// Write prints the figures as a Markdown table, with the peer's name in its header.
func Write(out io.Writer, peer string, figures []Figure) error {
	lines := []string{
		fmt.Sprintf("| figure | Operon | %s | ratio | goal | met |", peer),
		"| --- | --- | --- | --- | --- | --- |",
	}
	for _, f := range figures {
		ratio := ""
		if f.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", f.Ratio)
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", f.Name, f.Operon, f.Peer, ratio, cmp.Or(f.Goal, "–"), f.Met))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// AtMost returns a figure of two medians. Its goal is met if Operon's is at most goal times the peer's. With a goal of 0, it
// has no goal.
func AtMost[N ~int64 | ~float64](name string, operon, peer []N, show func(N) string, goal float64) Figure {
	f := compare(name, operon, peer, show)
	if goal > 0 {
		f.Goal, f.Met = fmt.Sprintf("≤ %.2g ×", goal), Judge(f.Ratio <= goal)
	}
	return f
}

// AtLeast returns a figure of two medians. Its goal is met if Operon's is at least goal times the peer's.
func AtLeast[N ~int64 | ~float64](name string, operon, peer []N, show func(N) string, goal float64) Figure {
	f := compare(name, operon, peer, show)
	f.Goal, f.Met = fmt.Sprintf("≥ %.2g ×", goal), Judge(f.Ratio >= goal)
	return f
}

func compare[N ~int64 | ~float64](name string, operon, peer []N, show func(N) string) Figure {
	ours, theirs := Median(operon), Median(peer)
	f := Figure{Name: name, Operon: show(ours), Peer: show(theirs), Met: None}
	if theirs != 0 {
		f.Ratio = float64(ours) / float64(theirs)
	}
	return f
}

// Within returns a figure whose goal is met if the median is at most goal. With a goal of 0, it has no goal.
func Within(name string, values []time.Duration, goal time.Duration) Figure {
	f := Figure{Name: name, Operon: Seconds(Median(values)), Met: None}
	if goal > 0 {
		f.Goal, f.Met = "≤ "+Seconds(goal), Judge(Median(values) <= goal)
	}
	return f
}

// NoneOf returns a figure of a count that must be 0. The peer's count is only printed.
func NoneOf(name string, operon, peer int64) Figure {
	return Figure{Name: name, Operon: Count(operon), Peer: Count(peer), Goal: "0", Met: Judge(operon == 0)}
}

// Median returns the median of at least one value.
func Median[N cmp.Ordered](values []N) N {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// Seconds formats a duration, in milliseconds below one second.
func Seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// Megabytes formats a number of bytes.
func Megabytes(bytes int64) string { return fmt.Sprintf("%d MB", bytes/1_000_000) }

// Count formats a count.
func Count(n int64) string { return fmt.Sprint(n) }
