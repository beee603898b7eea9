package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// figure is a line of the table. A figure without a peer is judged by itself.
type figure struct {
	name string
	// operon and peer are as people read them, such as "1.05 s".
	operon, peer string
	// ratio is operon's to the peer's; 0 without a peer.
	ratio float64
	goal  string
	met   verdict
}

// verdict tells whether a goal was met.
type verdict string

const (
	met    verdict = "yes"
	missed verdict = "no"
	none   verdict = "–"
)

func judge(ok bool) verdict {
	if ok {
		return met
	}
	return missed
}

// write prints the figures as a Markdown table.
func write(out io.Writer, figures []figure) error {
	lines := []string{
		"| figure | Operon | envtest | ratio | goal | met |",
		"| --- | --- | --- | --- | --- | --- |",
	}
	for _, f := range figures {
		ratio := ""
		if f.ratio > 0 {
			ratio = fmt.Sprintf("%.2f", f.ratio)
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", f.name, f.operon, f.peer, ratio, f.goal, f.met))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

// against makes a figure of two medians, met when Operon needs at most goal times as much.
func against[N ~int64 | ~float64](name string, operon, peer []N, show func(N) string, goal float64) figure {
	ours, theirs := median(operon), median(peer)
	f := figure{name: name, operon: show(ours), peer: show(theirs), ratio: float64(ours) / float64(theirs), goal: "–", met: none}
	if goal > 0 {
		f.goal, f.met = fmt.Sprintf("≤ %.1f ×", goal), judge(f.ratio <= goal)
	}
	return f
}

// within makes a figure that is met when the median is at most goal.
func within(name string, values []time.Duration, goal time.Duration) figure {
	f := figure{name: name, operon: seconds(median(values)), goal: "–", met: none}
	if goal > 0 {
		f.goal, f.met = "≤ "+seconds(goal), judge(median(values) <= goal)
	}
	return f
}

func median[N cmp.Ordered](values []N) N {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func megabytes(bytes int64) string { return fmt.Sprintf("%d MB", bytes/1_000_000) }
